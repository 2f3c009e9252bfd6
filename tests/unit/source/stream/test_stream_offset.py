"""Test the JSON of stream offsets in Spark's checkpoint."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import CheckpointError
from kafka_sql.source.stream.stream_offset import StreamOffset, from_json, to_json

OFFSETS = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b", "version", "offsets"]), st.integers(0, 99)), st.integers(0, 2**60)
)


def test_json_format() -> None:
    offset = StreamOffset({("orders", 1): 17, ("orders", 0): 42, ("b", 10): 1, ("b", 9): 2}, {("b", 9): 0})
    assert json.dumps(to_json(offset)) == (
        '{"version": 1, "offsets": {"b": {"9": 2, "10": 1}, "orders": {"0": 42, "1": 17}}, "starts": {"b": {"9": 0}}}'
    )
    assert to_json(StreamOffset({})) == {"version": 1, "offsets": {}}


@given(OFFSETS, OFFSETS, OFFSETS, st.dictionaries(st.text(), st.text()))
def test_json_round_trip(offsets: Any, starts: Any, stops: Any, ids: Any) -> None:
    offset = StreamOffset(offsets, starts, stops, ids)
    text = json.dumps(to_json(offset))
    assert from_json(json.loads(text)) == offset
    assert json.dumps(to_json(from_json(json.loads(text)))) == text


def test_positions() -> None:
    assert StreamOffset({("a", 0): 5}, {("a", 0): 1, ("a", 1): 3}).positions == {("a", 0): 5, ("a", 1): 3}


def test_other_versions_are_rejected() -> None:
    with pytest.raises(CheckpointError, match=r"Unsupported version 3 .* this version of kafka_sql supports 1\."):
        from_json({"version": 3, "offsets": {}})


@pytest.mark.parametrize(
    "value",
    [
        17,
        {},
        {"rate": 5},
        {"t": {"0": 1}},
        *({"version": 1, "offsets": offsets} for offsets in (5, {"t": {"x": 1}}, {"t": {"0": None}}, {"t": [1]})),
    ],
)
def test_offsets_of_other_sources_are_rejected(value: Any) -> None:
    with pytest.raises(CheckpointError, match=r"is not an offset of a Kafka table.*SET another 'pipeline.name'"):
        from_json(value)
