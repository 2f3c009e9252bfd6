"""Row kinds, and the last row of each key."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafka_sql.errors import EncodeError
from kafka_sql.table.changelog import comparable_columns, is_retraction, last_row_per_key


def test_rows_that_retract_earlier_ones() -> None:
    kinds = pa.array(["+I", "-U", "+U", "-D", None])
    assert is_retraction(kinds).to_pylist() == [False, True, False, True, False]


def test_an_unknown_row_kind() -> None:
    with pytest.raises(EncodeError, match=r"Invalid row kind '-X' \(METADATA FROM 'row-kind'\)\. Use '\+I'"):
        is_retraction(pa.array(["+I", "-X", "-Y"]))


def test_last_row_of_each_key() -> None:
    rows = pa.table({"a": [2, 1, None, 1, None], "b": ["x", "x", "x", "x", "x"], "c": [1, 2, 3, 4, 5]})
    assert last_row_per_key(rows, ["a", "b"]).tolist() == [0, 3, 4]


def test_nested_columns_are_compared_as_text() -> None:
    nested = pa.array([{"x": 1}, None, {"x": 1}], pa.struct([("x", pa.int64())]))
    columns = comparable_columns(pa.table({"a": [1, 2, 3], "n": nested, "unused": [0, 0, 0]}), ["a", "n"])
    assert columns.schema.types == [pa.int64(), pa.string()]
    assert columns["a"].to_pylist() == [1, 2, 3]
    first, missing, equal = columns["n"].to_pylist()
    assert first == equal is not None
    assert missing is None
