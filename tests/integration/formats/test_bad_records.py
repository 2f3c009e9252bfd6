"""Undecodable records in each format, and in each 'error-handling.mode'."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.definition import validate_table
from kafka_sql.embedded import EmbeddedRegistry
from kafka_sql.table.table import Column, Table
from tests.topics import Topics

pytestmark = pytest.mark.integration

DESCRIPTOR_FILE = Path(__file__).parents[2] / "unit/formats/protobuf/protos/shops.desc"
CHANGES = ("debezium-json", "canal-json", "maxwell-json", "ogg-json", "debezium-avro-confluent")
FRAMED = ("avro-confluent", "json-confluent", "protobuf-confluent", "debezium-avro-confluent")
FORMATS = ("raw", "json", "csv", "avro", "protobuf", *CHANGES, *FRAMED[:3])
MODES = ("ignore", "log", "inline")
SAMPLE = ("csv", "avro", "canal-json", "protobuf-confluent", "debezium-avro-confluent")
OTHERS = tuple(name for name in FORMATS if name not in SAMPLE)


@dataclass(frozen=True)
class Case:
    """A format, and a topic with a valid, an undecodable and a valid record."""

    name: str
    topic: str
    options: dict[str, str]
    bad: bytes

    @property
    def table_prefix(self) -> str:
        """Prefix of the names of its tables."""
        return "bad_" + self.name.replace("-", "_")


def create_case(name: str, topics: Topics, registry: str) -> Case:
    topic = topics.create()
    options = {"format": name}
    if name in FRAMED:
        options[f"{name}.url"] = registry
    if name == "protobuf":
        options |= {"protobuf.message-class-name": "shop.Order", "protobuf.descriptor-file": str(DESCRIPTOR_FILE)}
    table_options = {"connector": "kafka", "topic": topic, "properties.bootstrap.servers": topics.bootstrap, **options}
    schema = pa.schema([("n", pa.int64())])
    encoder = validate_table(Table(("t",), (Column("n", "BIGINT", "BIGINT"),), table_options)).value.create_encoder(
        schema
    )
    one, two = encoder.encode(pa.RecordBatch.from_pydict({"n": [1, 2]}, schema)).to_pylist()
    bad = one[:5] + b"\xff\xff" if name in FRAMED else b'"\xff\xff'
    topics.produce(topic, one, bad, two)
    return Case(name, topic, options, bad)


def declare(sql: Any, topics: Topics, case: Case, mode: str, dead_letters: str) -> None:
    columns = ["n BIGINT", "`offset` BIGINT METADATA VIRTUAL"]
    if case.name in CHANGES:
        columns.append("kind STRING METADATA FROM 'row-kind' VIRTUAL")
    if mode == "inline":
        columns += [
            f"{c} METADATA FROM '{key}' VIRTUAL" for c, key in (("why STRING", "error"), ("raw BYTES", "raw-value"))
        ]
    handling = {"fail": {}, "inline": {}, "ignore": {"error-handling.mode": "ignore"},
                "log": {"error-handling.mode": "log", "error-handling.log.target": dead_letters}}[mode]  # fmt: skip
    options = topics.with_options(case.topic, **case.options, **handling)
    sql(f"CREATE TABLE {case.table_prefix}_{mode} ({', '.join(columns)}) {options}")


@pytest.mark.parametrize("names", [SAMPLE, pytest.param(OTHERS, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_error_handling_modes(names: tuple[str, ...], sql: Any, topics: Topics, registry: EmbeddedRegistry) -> None:
    dead_letters = topics.create()
    cases = [create_case(name, topics, registry.url) for name in names]
    for case in cases:
        for mode in MODES:
            declare(sql, topics, case, mode, dead_letters)
    # one query over all tables
    selects = [
        f"SELECT '{case.name}' AS f, '{mode}' AS mode, `offset`, n, "
        + ("why, raw" if mode == "inline" else "NULL AS why, NULL AS raw")
        + f" FROM {case.table_prefix}_{mode}"
        + (f" /*+ OPTIONS('error-handling.log.target' = '{dead_letters}') */" if mode == "log" else "")
        for case in cases
        for mode in MODES
    ]
    rows = sql(" UNION ALL ".join(selects)).collect()
    for case in cases:
        by_mode = {mode: sorted(row[2:] for row in rows if row[:2] == (case.name, mode)) for mode in MODES}
        valid = [(0, 1, None), (2, 2, None)]
        assert [row[:3] for row in by_mode["ignore"]] == valid, case.name
        assert [row[:3] for row in by_mode["log"]] == valid, case.name
        first, (offset, n, why, raw), last = by_mode["inline"]
        assert [first[:3], last[:3]] == valid, case.name
        assert (offset, n, raw) == (1, None, case.bad)
        assert why.startswith(f"[DECODE] {case.topic}[0]@1"), case.name
    letters = {}
    for letter in topics.consume(dead_letters, len(cases)):
        headers: dict[str, Any] = dict(letter.headers() or ())
        letters[headers["__kafka_sql.errors.topic"].decode()] = letter.value(), headers["__kafka_sql.errors.offset"]
    assert letters == {case.topic: (case.bad, b"1") for case in cases}


@pytest.mark.parametrize("name", ["csv", *(pytest.param(n, marks=pytest.mark.long) for n in FORMATS if n != "csv")])
def test_a_bad_record_fails_the_query(name: str, sql: Any, topics: Topics, registry: EmbeddedRegistry) -> None:
    case = create_case(name, topics, registry.url)
    declare(sql, topics, case, "fail", "")
    with pytest.raises(Exception, match=rf"\[DECODE\] {case.topic}\[0\]@1[,:] "):
        sql(f"SELECT n FROM {case.table_prefix}_fail").collect()
