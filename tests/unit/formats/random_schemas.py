"""Random Arrow types and schemas of tables, and values of their columns."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as pt
from hypothesis import strategies as st

SCALARS: Final = (
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.binary(),
    pa.date32(),
    pa.time64("ns"),
    pa.timestamp("us"),
    pa.timestamp("us", tz="UTC"),
    pa.decimal128(5, 2),
    pa.decimal128(38, 18),
    pa.decimal128(10, 0),
)
NAMES: Final = ("a", "b", "c", "é", 'q"')


def types(depth: int = 2) -> st.SearchStrategy[pa.DataType]:
    """Generate Arrow types of columns, nested up to a depth."""
    scalars = st.sampled_from(SCALARS)
    if not depth:
        return scalars
    nested = types(depth - 1)
    fields = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)
    rows = fields.flatmap(
        lambda names: st.tuples(*(nested.map(lambda arrow_type, n=n: pa.field(n, arrow_type)) for n in names)).map(
            pa.struct
        )
    )
    maps = nested.map(lambda arrow_type: pa.map_(pa.string(), arrow_type))
    return st.one_of(scalars, scalars, nested.map(pa.list_), rows, maps)


@st.composite
def schemas(draw: st.DrawFn, not_null: bool = True) -> pa.Schema:
    """Generate schemas of one to three columns, some of them NOT NULL."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    nullable = st.just(True) if not not_null else st.sampled_from((True, True, True, False))
    return pa.schema([pa.field(name, draw(types()), draw(nullable)) for name in names])


def samples(arrow_type: pa.DataType) -> st.SearchStrategy[Any]:
    """Generate Python values of a type, including null."""
    return st.none() | _non_null_samples(arrow_type)


def _non_null_samples(arrow_type: pa.DataType) -> st.SearchStrategy[Any]:
    if pt.is_struct(arrow_type):
        return st.fixed_dictionaries({field.name: samples(field.type) for field in arrow_type})
    if pt.is_list(arrow_type):
        return st.lists(samples(arrow_type.value_type), max_size=3)
    if pt.is_map(arrow_type):
        return st.dictionaries(st.text(max_size=3), samples(arrow_type.item_type), max_size=3).map(
            lambda d: list(d.items())
        )
    if pt.is_boolean(arrow_type):
        return st.booleans()
    if pt.is_integer(arrow_type):
        return st.integers(-(2 ** (arrow_type.bit_width - 1)), 2 ** (arrow_type.bit_width - 1) - 1)
    if pt.is_floating(arrow_type):
        return st.floats(width=arrow_type.bit_width)
    if pt.is_decimal(arrow_type):
        limit = 10**arrow_type.precision - 1
        return st.integers(-limit, limit).map(lambda n: Decimal(f"{n}E-{arrow_type.scale}"))
    if pt.is_binary(arrow_type):
        return st.binary(max_size=7)
    if pt.is_date(arrow_type):
        return st.dates()
    if pt.is_time(arrow_type):
        return st.integers(0, 86_399_999).map(lambda ms: (dt.datetime.min + dt.timedelta(milliseconds=ms)).time())
    if pt.is_timestamp(arrow_type):
        return st.datetimes(timezones=st.none() if arrow_type.tz is None else st.just(dt.timezone.utc))
    return st.text(max_size=8)
