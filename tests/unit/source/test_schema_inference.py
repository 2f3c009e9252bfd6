"""Which columns a table gets from the schemas of its formats and from sampled records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from kafka_sql.errors import ConflictingOptionsError, DecodeError, SchemaError, UnknownOptionError
from kafka_sql.source import schema_inference
from kafka_sql.source.schema_inference import Sample, infer_columns
from kafka_sql.table.table import Table

BASE = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "localhost:9092", "value.format": "json"}
UPSERT = {**BASE, "connector": "upsert-kafka"}
JSON_KEY = {"key.format": "json"}
RAW_KEY = {"key.format": "raw"}


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets the sampled keys and values."""

    def set_records(*pairs: tuple[bytes | None, bytes | None]) -> None:
        keys, values = [key for key, _ in pairs], [value for _, value in pairs]
        sample = Sample([f"t[0]@{i}" for i in range(len(pairs))], keys, values)
        monkeypatch.setattr(schema_inference, "read_sample", lambda _: sample)

    return set_records


def infer(options: Mapping[str, str], *primary_key: str) -> tuple[dict[str, str], dict[str, str]]:
    inferred = infer_columns(Table(("t",), (), options, primary_key))
    assert inferred is not None
    return dict(inferred.columns), dict(inferred.options)


def test_columns_of_the_values(records: Any) -> None:
    records((None, b'{"a": 1}'), (b"?", None), (None, b'{"b": true}'))
    assert infer(BASE) == ({"a": "BIGINT", "b": "BOOLEAN"}, {})
    assert infer({**BASE, "value.format": "raw"}) == ({"value": "STRING"}, {})
    assert infer_columns(Table(("t",), (), {**BASE, "value.format": "avro"})) is None


@pytest.mark.parametrize(
    ("options", "primary_key", "columns", "inferred_options"),
    [
        (JSON_KEY, (), {"id": "BIGINT", "a": "BOOLEAN"}, {"key.fields": "id", "value.fields-include": "EXCEPT_KEY"}),
        (
            {**JSON_KEY, "key.fields-prefix": "k_"},
            (),
            {"k_id": "BIGINT", "a": "BOOLEAN"},
            {"key.fields": "k_id", "value.fields-include": "EXCEPT_KEY"},
        ),
        (
            {**JSON_KEY, "connector": "upsert-kafka"},
            ("id",),
            {"id": "BIGINT", "a": "BOOLEAN"},
            {"value.fields-include": "EXCEPT_KEY"},
        ),
        (RAW_KEY, (), {"key": "STRING", "a": "BOOLEAN"}, {"key.fields": "key", "value.fields-include": "EXCEPT_KEY"}),
        (
            {**RAW_KEY, "key.fields": "name"},
            (),
            {"name": "STRING", "a": "BOOLEAN"},
            {"key.fields": "name", "value.fields-include": "EXCEPT_KEY"},
        ),
        (
            {**RAW_KEY, "connector": "upsert-kafka"},
            ("name",),
            {"name": "STRING", "a": "BOOLEAN"},
            {"value.fields-include": "EXCEPT_KEY"},
        ),
    ],
)
def test_columns_of_the_key_come_first(
    records: Any,
    options: dict[str, str],
    primary_key: tuple[str, ...],
    columns: dict[str, str],
    inferred_options: dict[str, str],
) -> None:
    records((b'{"id": 7}', b'{"a": true}'), (b'{"id": 8}', None))
    assert infer({**BASE, **options}, *primary_key) == (columns, inferred_options)


def test_only_the_named_columns_of_a_key_are_columns(records: Any) -> None:
    records((b'{"id": 7, "part": 1}', b'{"a": true}'))
    assert list(infer({**BASE, **JSON_KEY, "key.fields": "id"})[0]) == ["id", "a"]
    assert list(infer({**UPSERT, **JSON_KEY}, "part")[0]) == ["part", "a"]


def test_names_of_key_columns_are_quoted(records: Any) -> None:
    records((b'{"a;b": 7, "it\'s": 1}', b'{"a;b": 7, "it\'s": 1}'))
    assert infer({**BASE, **JSON_KEY})[1] == {"key.fields": "'a;b';'it''s'"}


def test_a_key_column_in_the_value_has_one_type(records: Any) -> None:
    records((b'{"id": 7}', b'{"a": true, "id": 7}'))
    assert infer({**BASE, **JSON_KEY}) == ({"id": "BIGINT", "a": "BOOLEAN"}, {"key.fields": "id"})
    records((b'{"id": 7}', b'{"a": true, "id": "7"}'))
    with pytest.raises(
        ConflictingOptionsError, match=r"both have a column 'id', of types BIGINT and STRING\. Set 'key"
    ):
        infer({**BASE, **JSON_KEY})
    assert list(infer({**BASE, **JSON_KEY, "key.fields-prefix": "k_"})[0]) == ["k_id", "a", "id"]


def test_the_key_without_a_name_is_not_a_column_of_the_value(records: Any) -> None:
    records((b"x", b'{"key": "y"}'))
    with pytest.raises(ConflictingOptionsError, match="both have a column 'key', of types STRING and STRING"):
        infer({**BASE, **RAW_KEY})
    assert infer({**BASE, **RAW_KEY, "key.fields": "key"}) == ({"key": "STRING"}, {"key.fields": "key"})


def test_binary_raw_payloads(records: Any) -> None:
    for key in (b"\0\0\0\0\0\0\0\1", b"\xff", b"a\x1bb"):
        records((b"text", b'{"a": 1}'), (key, b'{"a": 1}'))
        assert infer({**BASE, **RAW_KEY})[0]["key"] == "BYTES"
    records((b"tab\tand\r\nline", b'{"a": 1}'), ("é".encode(), b'{"a": 1}'))
    assert infer({**BASE, **RAW_KEY})[0]["key"] == "STRING"
    assert infer({**BASE, **RAW_KEY, "key.raw.charset": "US-ASCII"})[0]["key"] == "BYTES"


def test_undecodable_records_name_their_offset_or_are_skipped(records: Any) -> None:
    records((None, None), (b"{}", b'{"a": 1}'), (b"?", b"x" * 8))
    with pytest.raises(DecodeError) as e:
        infer(BASE)
    assert (e.value.where, e.value.reason.partition(":")[0]) == ("t[0]@2", "the payload is not valid JSON")
    assert infer({**BASE, "value.json.ignore-parse-errors": "true"})[0] == {"a": "BIGINT"}
    assert infer({**BASE, "error-handling.mode": "ignore"})[0] == {"a": "BIGINT"}
    records((b'{"id": 1}', b'{"a": 1}'), (b"?", None))
    with pytest.raises(DecodeError, match=r"t\[0\]@1 \(key\): the payload is not valid JSON"):
        infer({**BASE, **JSON_KEY})


@pytest.mark.parametrize("pairs", [[], [(b"k", None)], [(None, b"{}")], [(None, b"")]])
def test_a_sample_without_fields_is_an_error(records: Any, pairs: Any) -> None:
    records(*pairs)
    with pytest.raises(SchemaError) as e:
        infer(BASE)
    assert e.value.message == (
        "The columns of table 't' cannot be inferred: topic 't' has no records with a value in the format 'json'. "
        "Declare the columns, or write records first."
    )
    records((None, json.dumps({"a": 1}).encode()))
    with pytest.raises(SchemaError, match=r"topic 't', topic 'u' has no records with a key in the format 'json'"):
        infer({**BASE, **JSON_KEY, "topic": "t;u"})


def test_options_are_checked_before_records_are_read() -> None:
    with pytest.raises(UnknownOptionError):
        infer({**BASE, "topics": "t"})
