"""Test that undecodable records are written to a dead letter topic."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Message, Producer

from kafka_sql.definition import validate_table
from kafka_sql.errors import BrokerError
from kafka_sql.kafka.split import Split
from kafka_sql.source.reader.dead_letters import DeadLetterTopic
from kafka_sql.source.reader.split_reader import SplitReader
from kafka_sql.table.table import Column, Table
from tests.topics import ANY_TIMESTAMP, Topics

pytestmark = pytest.mark.integration

COLUMNS = (Column("n", "BIGINT", "BIGINT"), Column("k", "STRING", "STRING"))
SCHEMA = pa.schema([("n", pa.int64()), ("k", pa.string())])


def table(topics: Topics, topic: str, target: str) -> Table:
    options = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": topics.bootstrap,
        "key.format": "json",
        "key.fields": "k",
        "value.format": "json",
        "value.fields-include": "EXCEPT_KEY",
        "error-handling.mode": "log",
        "error-handling.log.target": target,
    }
    return Table(("db", "t"), COLUMNS, options)


def headers(message: Message) -> list[tuple[str, bytes | None]]:
    return [(k, v if isinstance(v, bytes) or v is None else v.encode()) for k, v in message.headers() or ()]


def test_dead_letters_have_the_record_and_the_error(topics: Topics) -> None:
    topic, dead = topics.create(), topics.create()
    producer = Producer({"bootstrap.servers": topics.bootstrap})
    good, record_headers = b'{"k": "a"}', [("trace", b"\x00\xff"), ("trace", None)]
    producer.produce(topic, b'{"n": 1}', good)
    producer.produce(topic, b'{"n": "x"}\n', good, headers=record_headers, timestamp=1_700_000_000_123)
    producer.produce(topic, b'{"n": 2}', b"[", timestamp=1_700_000_000_456)
    producer.produce(topic, b'{"n": 3}', good)
    producer.produce(topic, b"{", None)
    producer.flush()

    definition = validate_table(table(topics, topic, dead))
    batches = SplitReader(definition, SCHEMA, dead_letter_topic=DeadLetterTopic(dead)).read(Split(topic, 0, 0, 5))
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert rows == [{"n": 1, "k": "a"}, {"n": 3, "k": "a"}]

    value, key, neither = topics.consume(dead, 3)
    assert (value.key(), value.value(), value.timestamp()[1]) == (good, b'{"n": "x"}\n', 1_700_000_000_123)
    assert headers(value)[:2] == record_headers
    error_headers = dict(headers(value)[2:])
    message = error_headers.pop("__kafka_sql.errors.exception.message")
    assert message is not None
    assert message.startswith(f"[DECODE] {topic}[0]@1, field 'n': found ".encode())
    assert error_headers == {
        "__kafka_sql.errors.topic": topic.encode(),
        "__kafka_sql.errors.partition": b"0",
        "__kafka_sql.errors.offset": b"1",
        "__kafka_sql.errors.timestamp": b"1700000000123",
        "__kafka_sql.errors.exception.class.name": b"DecodeError",
        "__kafka_sql.errors.field": b"n",
    }
    assert (key.key(), key.value(), key.timestamp()[1]) == (b"[", b'{"n": 2}', 1_700_000_000_456)
    assert b"(key)" in (dict(headers(key))["__kafka_sql.errors.exception.message"] or b"")
    assert (neither.key(), neither.value()) == (None, b"{")


@pytest.mark.long
def test_the_query_fails_if_a_dead_letter_cannot_be_written(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"{")
    declared = table(topics, topic, "no-such-topic")
    declared.options["properties.delivery.timeout.ms"] = "2000"  # type: ignore[index]
    definition = validate_table(declared)
    reader = SplitReader(definition, SCHEMA, dead_letter_topic=DeadLetterTopic("no-such-topic"))
    with pytest.raises(BrokerError, match=r"Table 'db\.t'.*no-such-topic"):
        list(reader.read(Split(topic, 0, 0, 1)))


def test_a_repeated_read_writes_what_its_query_has_not_written(topics: Topics) -> None:
    topic, dead = topics.create(), topics.create(2)
    for timestamp in (3_000, 1_000, 2_000, 4_000):
        topics.produce(topic, b"{", timestamp=timestamp)
    definition = validate_table(table(topics, topic, dead))

    def read(stop: int, query: str, is_repeat: bool) -> None:
        target = DeadLetterTopic(dead, query, is_repeat)
        list(SplitReader(definition, SCHEMA, dead_letter_topic=target).read(Split(topic, 0, 0, stop)))

    read(3, "a", False)
    read(4, "b", True)
    read(4, "a", True)
    read(4, "a", True)
    assert origins(topics.consume(dead, 8, partitions=2)) == [(query, 0, n) for query in "ab" for n in range(4)]


def test_records_with_timestamps_that_brokers_reject(topics: Topics) -> None:
    topic, dead = topics.create(**ANY_TIMESTAMP), topics.create()
    timestamps = [1_000, 2**63 - 1, 1_700_000_000_000_000, 2_000]
    for timestamp in timestamps:
        topics.produce(topic, b"{", timestamp=timestamp)
    definition = validate_table(table(topics, topic, dead))
    for is_repeat in (False, True):
        target = DeadLetterTopic(dead, "a", is_repeat)
        list(SplitReader(definition, SCHEMA, dead_letter_topic=target).read(Split(topic, 0, 0, 4)))
    letters = topics.consume(dead, 4)
    assert origins(letters) == [("a", 0, n) for n in range(4)]
    name = "__kafka_sql.errors.timestamp"
    assert [int(dict(headers(letter))[name] or b"") for letter in letters] == timestamps
    written = [letter.timestamp()[1] for letter in letters]
    assert (written[0], written[3]) == (1_000, 2_000)
    assert all(1_700_000_000_000 < time < 10**14 for time in written[1:3])  # the time of writing


def test_streaming_queries_write_each_dead_letter_once_and_batch_reads_none(
    spark: Any, sql: Any, topics: Topics, tmp_path: Path
) -> None:
    source, target, dead, changes = topics.create(2), topics.create(), topics.create(), topics.create()
    topics.produce(source, b'{"n": 1}', b"{", b'{"n": "x"}', b"no JSON")
    topics.produce(source, b"[", b"]", partition=1)
    options = {"error-handling.mode": "log", "error-handling.log.target": dead}
    sql(f"CREATE TABLE src (n INT) {topics.with_options(source, **options)}")
    sql(f"CREATE TABLE tgt (n INT) {topics.with_options(target)}")
    for _ in range(3):
        assert sql("SELECT n FROM src").collect() == [(1,)]
    assert sql("SELECT count(*) FROM src").collect() == [(1,)]
    assert sql("SELECT n FROM src /*+ OPTIONS('error-handling.mode' = 'ignore') */").collect() == [(1,)]
    sql("INSERT INTO tgt SELECT n FROM src")
    assert topics.consume(dead, 0) == []

    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    sql("SET 'pipeline.name' = 'copy'")
    query = run_job(spark, sql, "INSERT INTO tgt SELECT n FROM STREAM src")
    shutil.rmtree(tmp_path / "copy/commits")  # as after a crash: the batch is repeated
    assert run_job(spark, sql, "INSERT INTO tgt SELECT n FROM STREAM src") == query
    assert len(topics.consume(target, 3)) == 3
    bad = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]
    assert origins(topics.consume(dead, 5)) == [(query, *location) for location in bad]

    # in update mode, where a function writes each batch
    sql(
        f"""CREATE TABLE changes (n INT, total BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'upsert-kafka',
        'topic' = '{changes}', 'properties.bootstrap.servers' = '{topics.bootstrap}', 'key.format' = 'json',
        'value.format' = 'json')"""
    )
    sql("SET 'pipeline.name' = 'count'")
    other = run_job(spark, sql, "INSERT INTO changes SELECT n, count(*) FROM STREAM src GROUP BY n")
    expected = sorted(((q, *location) for q in (query, other) for location in bad), key=str)
    assert origins(topics.consume(dead, 10)) == expected


@pytest.mark.long
def test_a_batch_statement_that_sets_the_topic_writes_dead_letters(spark: Any, sql: Any, topics: Topics) -> None:
    source, dead = topics.create(), topics.create()
    topics.produce(source, b"{", b'{"n": 1}', b"[")
    options = {"error-handling.mode": "log", "error-handling.log.target": dead}
    sql(f"CREATE TABLE src (n INT) {topics.with_options(source, **options)}")
    hint = f"/*+ OPTIONS('error-handling.log.target' = '{dead}') */"
    assert sql(f"SELECT n FROM src {hint}").collect() == [(1,)]
    assert origins(topics.consume(dead, 2)) == [(None, 0, 0), (None, 0, 2)]
    reader_options = {
        "topic": source,
        "properties.bootstrap.servers": topics.bootstrap,
        "scan.startup.mode": "earliest-offset",
        "format": "json",
        **options,
    }
    reader = spark.read.format("kafka_sql").options(**reader_options).schema("n INT")
    assert reader.load().collect() == [(1,)]
    assert len(topics.consume(dead, 4)) == 4


def run_job(spark: Any, sql: Any, statement: str) -> str:
    """Run a streaming INSERT until it has read everything, and return the query's id."""
    (row,) = sql(statement).collect()
    query = spark.streams.get(row[0])
    query.processAllAvailable()
    query.stop()
    return str(query.id)


def origins(letters: list[Message]) -> list[tuple[str | None, int, int]]:
    """Return the query, partition and offset of each dead letter, sorted."""
    prefix = "__kafka_sql.errors."
    result = []
    for letter in letters:
        values = dict(headers(letter))
        query, partition, offset = (values.get(prefix + name) for name in ("query.id", "partition", "offset"))
        result.append((query and query.decode(), int(partition or -1), int(offset or -1)))
    return sorted(result, key=str)
