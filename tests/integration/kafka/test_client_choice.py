"""Each value of 'scan.client' and 'sink.client' writes and reads the same rows, with the client it names."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import UnsupportedOptionError
from kafka_sql.kafka import fetch, produce
from kafka_sql.kafka.direct.reads import reader
from kafka_sql.kafka.protocol.transaction_admin import EndTxnTarget, TransactionAdmin
from kafka_sql.kafka.split import Split
from kafka_sql.sink.exactly_once.prepare import Task, prepare
from kafka_sql.sink.row_writer import write_rows
from kafka_sql.source.reader.split_reader import SplitReader
from kafka_sql.table.table import Column, Table
from tests.topics import Topics

pytestmark = pytest.mark.integration

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string())])
ROWS = [{"a": i, "b": f"row {i}"} for i in range(1_000)]
CLIENTS = [("auto", "direct"), ("direct", "direct"), ("librdkafka", "librdkafka")]


@pytest.fixture(autouse=True)
def forget_logged() -> None:
    reader._logged.clear()
    reader._log_direct.cache_clear()
    fetch._log_librdkafka.cache_clear()
    produce._log_client.cache_clear()


def table(topics: Topics, topic: str, client: str, **options: str) -> Definition:
    table_options = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": topics.bootstrap,
        "format": "json",
        "scan.client": client,
        "sink.client": client,
        **options,
    }
    columns = (Column("a", "BIGINT", "BIGINT"), Column("b", "STRING", "STRING"))
    return validate_table(Table(("orders",), columns, table_options))


def batches() -> Iterator[pa.RecordBatch]:
    for start in (0, 400):
        yield pa.RecordBatch.from_pylist(ROWS[start : start + 600 if start else 400], SCHEMA)


def read(definition: Definition, topic: str, stop: int) -> tuple[list[dict[str, Any]], set[str]]:
    """Return the rows, and the clients that read."""
    clients = set[str]()

    def noting(client: str, read_part: Callable[..., Any]) -> Callable[..., Any]:
        def read_with(*arguments: object) -> Any:
            clients.add(client)
            return read_part(*arguments)

        return read_with

    with pytest.MonkeyPatch.context() as patched:
        for name in ("read_columnar", "read_columnar_or_raise"):
            patched.setattr(fetch, name, noting("direct", getattr(fetch, name)))
        patched.setattr(fetch, "read_to_end", noting("librdkafka", fetch.read_to_end))
        rows = [row for b in SplitReader(definition, SCHEMA).read(Split(topic, 0, 0, stop)) for row in b.to_pylist()]
    return rows, clients


@pytest.mark.parametrize(("setting", "client"), CLIENTS)
def test_rows(topics: Topics, setting: str, client: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka_sql.kafka")
    topic = topics.create()
    definition = table(topics, topic, setting)
    stats = write_rows(definition, batches())
    assert (stats.rows, stats.client) == (1_000, client)
    assert read(definition, topic, 1_000) == (ROWS, {client})
    expected = ["Table 'orders': writing with the direct client", f"topic '{topic}': reading with the direct client"]
    if client == "librdkafka":
        expected = [
            "Table 'orders': writing with librdkafka: 'sink.client' is 'librdkafka'",
            f"topic '{topic}': reading with librdkafka: 'scan.client' is 'librdkafka'",
        ]
    # librdkafka's own log may have lines of a client that an earlier test left in the cache
    messages = [record.getMessage() for record in caplog.records if record.name == "kafka_sql.kafka"]
    assert messages == expected


@pytest.mark.parametrize(("setting", "client"), CLIENTS)
def test_rows_of_a_transaction(topics: Topics, setting: str, client: str) -> None:
    topic = topics.create()
    definition = table(
        topics,
        topic,
        setting,
        **{
            "sink.delivery-guarantee": "exactly-once",
            "sink.transactional-id-prefix": topic,
            "properties.isolation.level": "read_committed",
        },
    )
    prepared = prepare(definition, Task(0, 0, "0123456789abcdef", None, None), batches(), 60_000)
    assert (prepared.rows, prepared.stats.client) == (1_000, client)
    assert prepared.transaction is not None
    with closing(TransactionAdmin(definition.client_config)) as admin:
        description = admin.describe([prepared.transaction])[prepared.transaction]
        assert description is not None
        target = EndTxnTarget(prepared.transaction, description.producer_id, description.producer_epoch)
        assert admin.commit([target]) == {prepared.transaction: 0}
    assert read(definition, topic, 1_000) == (ROWS, {client})


def test_auto_uses_librdkafka_for_settings_that_only_it_supports(
    topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kafka_sql.kafka")
    topic = topics.create()
    options = {"properties.broker.address.family": "v4"}
    definition = table(topics, topic, "auto", **options)
    stats = write_rows(definition, batches())
    assert (stats.rows, stats.client) == (1_000, "librdkafka")
    assert read(definition, topic, 1_000)[0] == ROWS
    reason = "with librdkafka: the direct client does not support 'properties.broker.address.family'"
    assert caplog.messages == [f"Table 'orders': writing {reason}", f"{topic}[0]@0: reading {reason}"]
    with pytest.raises(UnsupportedOptionError, match=r"'scan\.client' is 'direct', but .*broker\.address\.family"):
        table(topics, topic, "direct", **options)


@pytest.mark.sample(1)
@pytest.mark.parametrize("client", ["auto", "direct", "librdkafka"])
def test_sql_and_spark_options(sql: Callable[..., Any], spark: Any, topics: Topics, client: str) -> None:
    topic = topics.create()
    options = {"scan.client": client, "sink.client": client}
    sql(f"CREATE TABLE t (a BIGINT) {topics.with_options(topic, **options)}")
    sql("INSERT INTO t SELECT id FROM range(100)")
    sql("INSERT INTO t /*+ OPTIONS('sink.client' = 'librdkafka') */ SELECT id FROM range(100, 110)")
    found = sql("SELECT a FROM t /*+ OPTIONS('scan.client' = 'librdkafka') */ ORDER BY a").collect()
    assert [row.a for row in found] == list(range(110))
    assert [row.a for row in sql("SELECT a FROM t ORDER BY a").collect()] == list(range(110))
    source = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": topics.bootstrap,
        "format": "json",
        "scan.startup.mode": "earliest-offset",
        **options,
    }
    spark.range(110, 120).toDF("a").write.format("kafka_sql").options(**source).mode("append").save()
    loaded = spark.read.format("kafka_sql").options(**source).schema("a BIGINT").load()
    assert [row.a for row in loaded.orderBy("a").collect()] == list(range(120))
