"""The fast way: a column's texts to its type, where all of them have a plain form.

Whatever is not plain raises ValueError here, and its records are left to the exact way.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.formats.csv.options import Dialect
from kafka_sql.formats.json import base64
from kafka_sql.formats.json.columns import convert as convert_plain
from kafka_sql.formats.json.record import Rules

SPACE: Final = "".join(map(chr, range(33)))  # what Java's String.trim removes
_SQL_TIMES: Final = Rules(fail_on_missing=False, ignore_errors=False, iso=False)
_GREGORIAN: Final = -141_427  # 1582-10-15; java.sql.Date reads what is before in the Julian calendar
_SMALL: Final = 8  # values that are no longer worth halving


def _only(characters: bytes) -> np.ndarray:
    allowed = np.zeros(256, bool)
    allowed[list(characters)] = True
    return allowed


_WHOLE: Final = _only(b"-0123456789")
_DECIMAL: Final = _only(b"-.0123456789")
_FLOAT: Final = _only(b"+-.0123456789eE")


def read(texts: pa.StringArray, field: pa.Field, dialect: Dialect) -> tuple[pa.Array, list[int]]:
    """The texts as the field's type, and which of them are not plain and became something else."""
    try:
        array = _convert(texts, field.type, dialect)
        if array.null_count and not field.nullable:
            raise ValueError("null")
        return array, []
    except ValueError:
        if len(texts) <= _SMALL:
            return pa.nulls(len(texts), field.type), list(range(len(texts)))
    middle = len(texts) // 2
    (left, low), (right, high) = read(texts[:middle], field, dialect), read(texts[middle:], field, dialect)
    return pa.concat_arrays([left, right]), low + [middle + i for i in high]


def _convert(texts: pa.StringArray, t: pa.DataType, dialect: Dialect) -> pa.Array:
    if pt.is_list(t):
        offsets, values, _ = _elements(texts, dialect)
        if len(values) and not t.value_field.nullable and _nulls(values, dialect).null_count:
            raise ValueError("null")
        values = _convert(values, t.value_type, dialect)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values).cast(t)
    if pt.is_struct(t):
        return _rows(texts, t, dialect)
    return _scalar(_nulls(texts, dialect), t)


def _rows(texts: pa.StringArray, t: pa.DataType, dialect: Dialect) -> pa.Array:
    offsets, values, blank = _elements(texts, dialect)
    lengths = np.diff(offsets)
    if (lengths[~blank] < t.num_fields).any():
        raise ValueError("too few")
    children = []
    for i, child in enumerate(t):
        at = pa.array(np.where(blank, 0, offsets[:-1] + i), pa.int64(), mask=blank)
        array = _convert(values.take(at), child.type, dialect)
        if not child.nullable and array.null_count > np.count_nonzero(blank):
            raise ValueError("null")
        children.append(array)
    return pa.StructArray.from_arrays(children, fields=list(t), mask=pa.array(blank))


def _elements(texts: pa.StringArray, dialect: Dialect) -> tuple[np.ndarray, pa.StringArray, np.ndarray]:
    """Offsets and values of the texts' elements, and which texts are blank and have none."""
    bare = pc.binary_length(pc.ascii_trim(texts, SPACE))
    single = pc.invert(pc.match_substring(texts, dialect.element_separator))
    blank = pc.and_(pc.equal(bare, 0), single).to_numpy(zero_copy_only=False)
    lists = pc.split_pattern(texts, dialect.element_separator)
    lengths = np.diff(lists.offsets.to_numpy())
    values = lists.flatten()
    if blank.any():
        values = values.filter(pa.array(np.repeat(~blank, lengths)))
        lengths = np.where(blank, 0, lengths)
    if dialect.trim:
        values = pc.ascii_trim(values, SPACE)
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int32), values, blank


def _nulls(texts: pa.StringArray, dialect: Dialect) -> pa.StringArray:
    if dialect.null is not None:
        texts = pc.if_else(pc.equal(texts, dialect.null), pa.scalar(None, pa.string()), texts)
    if dialect.empty_null:
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    return texts


def _scalar(texts: pa.StringArray, t: pa.DataType) -> pa.Array:
    if pt.is_boolean(t):
        return pc.equal(pc.ascii_lower(pc.ascii_trim(texts, SPACE)), "true")
    if pt.is_integer(t):
        return _require(texts, _WHOLE).cast(t)
    if pt.is_floating(t):
        return _require(texts, _FLOAT).cast(t)
    if pt.is_decimal(t):
        decimals = _require(texts, _DECIMAL).cast(t)
        decimals.validate(full=True)
        return decimals
    array = convert_plain(texts, t, _SQL_TIMES)
    if pt.is_date(t) and pc.any(pc.less(array.cast(pa.int32()), _GREGORIAN)).as_py():
        raise ValueError("not the plain form")
    return array


def _require(texts: pa.StringArray, allowed: np.ndarray) -> pa.StringArray:
    _, data = base64.parts(texts)
    if not allowed[data].all():
        raise ValueError("not the plain form")
    return texts
