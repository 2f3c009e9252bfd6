"""Random Arrow types and schemas of tables."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
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
