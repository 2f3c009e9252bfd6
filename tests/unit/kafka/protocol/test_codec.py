"""Test that encoded values are decoded again, and that a truncated response is an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import Reader


@given(st.integers(0, 2**35 - 1))
def test_uvarint_round_trip(value: int) -> None:
    assert Reader(codec.uvarint(value)).uvarint() == value


def test_null_string_round_trip() -> None:
    assert Reader(codec.string(None)).string() is None


@given(st.text(max_size=300))
def test_string_round_trip(text: str) -> None:
    assert Reader(codec.string(text)).string() == text
    assert Reader(codec.string(text, flexible=True), flexible=True).string() == text


def test_a_truncated_response_is_an_error() -> None:
    with pytest.raises(codec.MalformedResponse, match="ends early"):
        Reader(codec.string("abc")[:-1]).string()
