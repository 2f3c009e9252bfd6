"""Test undecodable records (skipped, or as error rows) against decoding each record separately."""

from __future__ import annotations

import json
import logging
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import (
    AuthorizationError,
    ConflictingOptionsError,
    DecodeError,
    MissingOptionError,
    SchemaError,
)
from kafka_sql.kafka.records import RecordFields, Records
from kafka_sql.kafka.split import Split
from kafka_sql.source.reader import dead_letters
from kafka_sql.source.reader.bad_records import BadRecordHandler, bad_record_handler, describe_tolerance
from kafka_sql.source.reader.changelog_content import Identity, reduce_changes, upsert_changes
from kafka_sql.source.reader.dead_letters import DeadLetterTopic
from kafka_sql.source.reader.row_decoder import RowDecoder
from kafka_sql.table.table import Column, Table
from tests.unit.source.changelog_tables import UPSERT_OPTIONS

OPTIONS = {
    "connector": "kafka",
    "topic": "t",
    "properties.bootstrap.servers": "h:1",
    "format": "json",
    "error-handling.mode": "ignore",
}
WITH_TARGET = {**OPTIONS, "error-handling.mode": "log", "error-handling.log.target": "dead"}
N = Column("n", "BIGINT", "BIGINT", nullable=False)
AT = Column("at", "BIGINT", "BIGINT", metadata="offset", virtual=True)
ERROR = Column("why", "STRING", "STRING", metadata="error", virtual=True)
RAW_KEY = Column("k", "BINARY", "BYTES", metadata="raw-key", virtual=True)
RAW_VALUE = Column("v", "BINARY", "BYTES", metadata="raw-value", virtual=True)
TYPES = {"n": pa.int64(), "at": pa.int64(), "why": pa.string(), "k": pa.binary(), "v": pa.binary(), "id": pa.string()}
PAYLOADS = st.lists(
    st.none()
    | st.integers(0, 99).map(lambda n: b'{"n": %d}' % n)
    | st.lists(st.integers(0, 9), max_size=3).map(lambda ns: json.dumps([{"n": n} for n in ns]).encode())
    | st.sampled_from([b"", b"{", b'{"n": "x"}', b'{"n": null}', b"\xff", b'[{"n": 1}, {"n": []}]']),
    max_size=60,
)


def schema(*columns: Column) -> pa.Schema:
    return pa.schema([pa.field(c.name, TYPES[c.name], nullable=c.nullable) for c in columns])


def decoder(definition: Definition, *columns: Column) -> tuple[RowDecoder, BadRecordHandler]:
    split = Split("t", 0, 0, 1000)
    handler = BadRecordHandler(definition, split)
    return RowDecoder(definition, schema(*columns), split, handler), handler


def records(payloads: list[bytes | None], keys: list[bytes | None] | None = None) -> Records:
    return Records(
        pa.array(payloads, pa.binary()),
        np.arange(len(payloads)) * 2,
        None if keys is None else pa.array(keys, pa.binary()),
    )


@given(PAYLOADS)
def test_decodable_records_are_read_as_if_the_others_were_missing(payloads: list[bytes | None]) -> None:
    definition = validate_table(Table(("t",), (N, AT), OPTIONS))
    tolerant, _ = decoder(definition, N, AT)
    strict = RowDecoder(definition, schema(N, AT), Split("t", 0, 0, 1000))
    expected: list[dict[str, Any]] = []
    for i, payload in enumerate(payloads):
        record = records([payload])
        try:
            rows = strict.decode(Records(record.values, np.array([i * 2])))
        except DecodeError:
            continue
        expected += rows.batch.to_pylist()
    assert tolerant.decode(records(payloads)).batch.to_pylist() == expected


def test_error_rows_have_the_error_and_the_raw_payload() -> None:
    columns = (N, AT, ERROR, RAW_KEY, RAW_VALUE)
    definition = validate_table(Table(("t",), columns, {**OPTIONS, "error-handling.mode": "fail"}))
    assert definition.has_error_column
    tolerant, _ = decoder(definition, *columns)
    assert tolerant.record_fields.keys
    batch = tolerant.decode(records([b'{"n": 1}', b'{"n": "x"}', None, b"{"], [b"a", b"b", b"c", None])).batch
    rows = batch.to_pylist()
    assert [(row["n"], row["at"], row["k"], row["v"]) for row in rows] == [
        (1, 0, b"a", b'{"n": 1}'),
        (None, 2, b"b", b'{"n": "x"}'),
        (None, 6, None, b"{"),
    ]
    assert rows[0]["why"] is None
    assert rows[1]["why"].startswith("[DECODE] t[0]@2, field 'n': found ")
    assert rows[2]["why"].startswith("[DECODE] t[0]@6: the payload is not valid JSON")


def test_latest_rows_with_undecodable_records_in_between() -> None:
    options = {**UPSERT_OPTIONS, "error-handling.mode": "log"}
    key = Column("id", "STRING", "STRING", nullable=False)
    definition = validate_table(Table(("t",), (key, N), options, primary_key=("id",)))
    tolerant, handler = decoder(definition, key, N)
    a, b = b'{"id": "a"}', b'{"id": "b"}'
    changes = records(
        [b'{"n": 1}', b'{"n": 2}', b"{", b'{"n": 3}', None, None, b'{"n": 4}'], [a, b, a, b"[", b"{", b, a]
    )

    reduced = reduce_changes([upsert_changes(tolerant, changes)], Identity(("id",), is_key=True), tolerant.schema)
    rows = [row for batch in reduced for row in batch.to_pylist()]
    assert rows == [{"id": "a", "n": 4}]
    assert handler._count == 3


def test_dead_letters_need_whole_records_also_if_the_table_has_no_key() -> None:
    definition, split = validate_table(Table(("t",), (N,), WITH_TARGET)), Split("t", 0, 0, 1000)
    with bad_record_handler(definition, split, DeadLetterTopic("dead")) as handler:
        assert handler is not None
        tolerant = RowDecoder(definition, schema(N), split, handler)
    assert tolerant.record_fields == RecordFields(keys=True, timestamps=True, headers=True)


def test_a_read_that_writes_no_dead_letters_logs_the_records_and_the_hint(caplog: pytest.LogCaptureFixture) -> None:
    definition, split = validate_table(Table(("db", "t"), (N,), WITH_TARGET)), Split("t", 0, 0, 40)
    with caplog.at_level(logging.WARNING, "kafka_sql"), bad_record_handler(definition, split) as handler:
        assert handler is not None
        tolerant = RowDecoder(definition, schema(N), split, handler)
        assert tolerant.record_fields == RecordFields()
        tolerant.decode(records([b"{", b'{"n": 1}']))
    skipped, summary = [record.getMessage() for record in caplog.records]
    assert skipped.startswith("table 'db.t': skipped a record: [DECODE] t[0]@0: ")
    assert summary == (
        "table 'db.t': 1 records of t[0] between offsets 0 and 40 could not be decoded and were skipped. A batch read "
        "writes no dead letters, except with the hint /*+ OPTIONS('error-handling.log.target' = 'dead') */"
    )


def test_dead_letters_that_cannot_be_searched_are_written_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    searches = []

    def reject(config: object) -> None:
        searches.append(config)
        raise AuthorizationError("not authorized to read topic 'dead'", topic="dead")

    written: list[Records] = []
    monkeypatch.setattr(dead_letters, "cached_cluster", reject)
    monkeypatch.setattr(
        dead_letters.DeadLetterWriter, "_produce", lambda self, records, errors: written.append(records)
    )
    definition = validate_table(Table(("db", "t"), (N,), WITH_TARGET))
    writer = dead_letters.DeadLetterWriter(definition, Split("t", 0, 0, 40), DeadLetterTopic("dead", "q", True))
    with caplog.at_level(logging.WARNING, "kafka_sql"):
        for offset, timestamp in ((7, 5), (8, 6), (9, 4)):
            bad = Records(pa.array([b"{"], pa.binary()), np.array([offset]), timestamps=np.array([timestamp]))
            writer.write(bad, [DecodeError(0, None, "no JSON")])
    assert [records.offsets.tolist() for records in written] == [[7], [8], [9]]
    assert len(searches) == 2  # again for an earlier time
    message = caplog.records[0].getMessage()
    assert message.startswith("table 'db.t': dead letters that this query may have written are written again")
    assert "not authorized to read topic 'dead'" in message


def test_skipped_records_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    definition = validate_table(Table(("db", "t"), (N,), {**OPTIONS, "error-handling.mode": "log"}))
    with caplog.at_level(logging.WARNING, "kafka_sql"), bad_record_handler(definition, Split("t", 0, 0, 40)) as handler:
        assert handler is not None
        RowDecoder(definition, schema(N), Split("t", 0, 0, 40), handler).decode(records([b"{"] * 20))
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 11
    assert messages[0].startswith("table 'db.t': skipped a record: [DECODE] t[0]@0: the payload is not valid JSON")
    assert (
        messages[-1]
        == "table 'db.t': 20 records of t[0] between offsets 0 and 40 could not be decoded and were skipped"
    )


def test_the_first_undecodable_record_fails_the_query_by_default() -> None:
    definition = validate_table(Table(("t",), (N,), {**OPTIONS, "error-handling.mode": "fail"}))
    with bad_record_handler(definition, Split("t", 0, 0, 40)) as handler:
        assert handler is None


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"error-handling.log.target": "dead"}, MissingOptionError, "requires 'error-handling.mode' = 'log'"),
        (
            {"error-handling.mode": "log", "error-handling.log.target": "t"},
            ConflictingOptionsError,
            "it would read its own dead letters",
        ),
    ],
)
def test_options(options: dict[str, str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        validate_table(Table(("t",), (N,), {**OPTIONS, **options}))


def test_error_columns_are_rejected_if_a_query_returns_the_content_of_a_changelog() -> None:
    options = {**OPTIONS, "format": "debezium-json"}
    with pytest.raises(
        SchemaError, match=r"Column 'why' \(METADATA FROM 'error'\).*an undecodable record is not a change"
    ):
        validate_table(Table(("t",), (N, ERROR), options, primary_key=("n",)))


STRICT = {key: value for key, value in OPTIONS.items() if key != "error-handling.mode"}
MODE = "'error-handling.mode' = 'ignore' or 'log'"


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({}, f"set 'json.ignore-parse-errors' = 'true', or {MODE}"),
        ({"json.ignore-parse-errors": "true"}, f"set {MODE}"),
        ({"json.fail-on-missing-field": "true"}, f"set {MODE}"),  # excludes the other
        ({"format": "raw"}, f"set {MODE}"),
    ],
)
def test_options_that_tolerate_a_record(options: dict[str, str], advice: str) -> None:
    definition = validate_table(Table(("t",), (N,), {**STRICT, **options}))
    assert describe_tolerance(definition.value) == f"to tolerate such records, {advice}"


@pytest.mark.parametrize(
    ("payload", "reason"),
    [(b'{"n": "x"}', 'found "x", expected BIGINT'), (b"{", "the payload is not valid JSON: ")],
)
def test_errors_name_the_options_that_tolerate_the_record(payload: bytes, reason: str) -> None:
    strict = RowDecoder(validate_table(Table(("t",), (N,), STRICT)), schema(N), Split("t", 0, 0, 10))
    with pytest.raises(DecodeError) as raised:
        strict.decode(records([payload]))
    error = raised.value
    advice = f" (to tolerate such records, set 'json.ignore-parse-errors' = 'true', or {MODE})"
    assert str(error).endswith(advice)
    assert error.reason.startswith(reason)
    assert "tolerate" not in error.reason
    assert error.where == "t[0]@0"


def test_errors_of_keys_name_the_options_of_the_key() -> None:
    options = {**STRICT, "key.format": "csv", "key.fields": "n", "value.format": "json"}
    del options["format"]
    definition = validate_table(Table(("t",), (N,), options))
    strict = RowDecoder(definition, schema(N), Split("t", 0, 0, 10))
    with pytest.raises(
        DecodeError, match=r"^\[DECODE\] t\[0\]@0 \(key\).*set 'key\.csv\.ignore-parse-errors' = 'true'"
    ):
        strict.decode(records([b"{}"], [b"x"]))
