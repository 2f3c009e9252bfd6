"""Test tables of the connector 'dynamic-kafka' with two real clusters: exact rows of batches and streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.errors import MetadataServiceError, SchemaError, TopicNotFoundError, UnsupportedSqlError
from tests.lakehouse_targets import forget_last_commit
from tests.topics import Topics

pytestmark = pytest.mark.integration
SERVICE = "tests.integration.source.dynamic.services:from_files"
SECRET = "top-secret-word"


@pytest.fixture(scope="module")
def other_topics() -> Iterator[Topics]:
    """Topics on a cluster other than that of ``topics``."""
    with EmbeddedKafka() as kafka:
        yield Topics(kafka.bootstrap_servers)


class Streams:
    """A stream, whose clusters and topics are in a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "orders.json"

    def publish(self, **clusters: tuple[Topics, str]) -> None:
        """Replace the stream's clusters; each has one topic, and a password that must never be shown."""
        content = {
            name: {
                "topics": [topic],
                "properties": {"bootstrap.servers": topics.bootstrap, "ssl.key.password": SECRET},
            }
            for name, (topics, topic) in clusters.items()
        }
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(content))
        new.replace(self.path)

    def with_options(self, **overrides: str) -> str:
        """Return a WITH clause."""
        options = {
            "connector": "dynamic-kafka",
            "stream-ids": str(self.path),
            "metadata-service": SERVICE,
            "stream-metadata-discovery-interval-ms": "1",
            "scan.startup.mode": "earliest-offset",
            "format": "json",
            **overrides,
        }
        return "WITH (" + ", ".join(f"'{k}' = '{v}'" for k, v in options.items()) + ")"


@pytest.fixture
def streams(tmp_path: Path) -> Streams:
    return Streams(tmp_path)


COLUMNS = (
    "(id INT, cluster STRING METADATA FROM 'kafka_cluster', topic STRING METADATA, o BIGINT METADATA FROM 'offset')"
)


def test_a_batch_reads_all_clusters(sql: Any, topics: Topics, other_topics: Topics, streams: Streams) -> None:
    name = "dynamic-batch"
    topics.create_named(name, 2)
    other_topics.create_named(name)
    topics.produce(name, b'{"id": 1}', b'{"id": 2}', partition=1)
    other_topics.produce(name, b'{"id": 3}')
    streams.publish(a=(topics, name), b=(other_topics, name))
    sql(f"CREATE TABLE orders {COLUMNS} {streams.with_options()}")
    expected = [(1, "a", name, 0), (2, "a", name, 1), (3, "b", name, 0)]
    assert sorted(map(tuple, sql("SELECT * FROM orders").collect())) == expected
    hint = "/*+ OPTIONS('scan.parallelism' = '1') */"
    assert sorted(map(tuple, sql(f"SELECT * FROM orders {hint}").collect())) == expected
    streams.publish(b=(other_topics, name))
    assert [tuple(row) for row in sql("SELECT * FROM orders").collect()] == [(3, "b", name, 0)]
    shown = sql("SHOW CREATE TABLE orders").collect()[0][0]
    assert "'connector' = 'dynamic-kafka'" in shown
    assert f"'metadata-service' = '{SERVICE}'" in shown
    with pytest.raises(UnsupportedSqlError, match="'dynamic-kafka' can only be used as a source"):
        sql("INSERT INTO orders (id) VALUES (4)")


def test_the_topics_of_a_single_cluster(sql: Any, topics: Topics) -> None:
    one, two = topics.create_named("dynamic-one"), topics.create_named("dynamic-two")
    topics.produce(one, b'{"id": 1}')
    topics.produce(two, b'{"id": 2}')
    service = "'metadata-service' = 'single-cluster', 'metadata-service.cluster-id' = 'main'"
    options = f"'connector' = 'dynamic-kafka', {service}, 'properties.bootstrap.servers' = '{topics.bootstrap}'"
    options += ", 'format' = 'json', 'scan.startup.mode' = 'earliest-offset'"
    sql(f"CREATE TABLE listed {COLUMNS} WITH ({options}, 'stream-ids' = '{one};{two}')")
    expected = [(1, "main", one, 0), (2, "main", two, 0)]
    assert sorted(map(tuple, sql("SELECT * FROM listed").collect())) == expected
    sql(f"CREATE TABLE found {COLUMNS} WITH ({options}, 'stream-pattern' = 'amic-(one|two)')")
    assert sorted(map(tuple, sql("SELECT * FROM found").collect())) == expected
    sql(f"CREATE TABLE missing {COLUMNS} WITH ({options}, 'stream-ids' = '{one};no-such-topic')")
    with pytest.raises(TopicNotFoundError, match="Cluster 'main': Topic 'no-such-topic' does not exist"):
        sql("SELECT * FROM missing").collect()
    with pytest.raises(SchemaError, match="Invalid metadata key 'kafka_cluster'"):
        sql(f"CREATE TABLE kafka_table {COLUMNS} {topics.with_options(one)}")


def test_clusters_come_and_go_in_a_running_stream(
    spark: Any, sql: Any, topics: Topics, other_topics: Topics, streams: Streams, tmp_path: Path
) -> None:
    name = "dynamic-stream"
    topics.create_named(name)
    other_topics.create_named(name)
    topics.produce(name, b'{"id": 1}')
    other_topics.produce(name, b'{"id": 11}')
    streams.publish(a=(topics, name))
    sql(f"CREATE TABLE orders {COLUMNS} {streams.with_options()}")
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"

    def start() -> Any:
        writer = spark.readStream.table("orders").writeStream.format("parquet")
        return writer.option("checkpointLocation", str(checkpoint)).start(str(out))

    def rows() -> list[tuple[int, str, int]]:
        frame = spark.read.parquet(str(out)).select("id", "cluster", "o")
        return sorted(map(tuple, frame.collect()))

    query = start()
    query.processAllAvailable()
    assert rows() == [(1, "a", 0)]
    streams.publish(a=(topics, name), b=(other_topics, name))  # a cluster is added
    topics.produce(name, b'{"id": 2}')
    query.processAllAvailable()
    assert rows() == [(1, "a", 0), (2, "a", 1), (11, "b", 0)]
    query.stop()
    topics.produce(name, b'{"id": 3}')
    other_topics.produce(name, b'{"id": 12}')
    query = start()  # a restart continues both clusters
    query.processAllAvailable()
    assert rows() == [(1, "a", 0), (2, "a", 1), (3, "a", 2), (11, "b", 0), (12, "b", 1)]
    streams.publish(b=(other_topics, name))  # a cluster is removed
    query.processAllAvailable()
    topics.produce(name, b'{"id": 4}')
    other_topics.produce(name, b'{"id": 13}')
    query.processAllAvailable()
    expected = [(1, "a", 0), (2, "a", 1), (3, "a", 2), (11, "b", 0), (12, "b", 1), (13, "b", 2)]
    assert rows() == expected
    query.stop()
    offsets = [path for path in (checkpoint / "offsets").iterdir() if path.name.isdigit()]
    last = json.loads(max(offsets, key=lambda path: int(path.name)).read_text().splitlines()[-1])
    assert last["offsets"] == {f"b/{name}": {"0": 3}}
    assert not [path for path in checkpoint.rglob("*") if path.is_file() and SECRET in path.read_text(errors="replace")]
    query = start()  # a restart without the removed cluster
    query.processAllAvailable()
    query.stop()
    assert rows() == expected


EXACTLY_ONCE = {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "dynamic"}


@pytest.mark.long
@pytest.mark.parametrize(
    "guarantee", [pytest.param({}, marks=pytest.mark.long), EXACTLY_ONCE], ids=["at-least-once", "exactly-once"]
)
def test_a_streaming_insert_resumes_from_its_checkpoint(
    guarantee: dict[str, str],
    spark: Any,
    sql: Any,
    topics: Topics,
    other_topics: Topics,
    streams: Streams,
    tmp_path: Path,
) -> None:
    name = "dynamic-insert"
    target = topics.create()
    topics.create_named(name)
    other_topics.create_named(name)
    streams.publish(a=(topics, name))
    columns = "id INT, twice AS id * 2, cluster STRING METADATA FROM 'kafka_cluster'"
    sql(f"CREATE TABLE orders ({columns}) {streams.with_options()}")
    options = topics.with_options(target, **guarantee, **{"properties.isolation.level": "read_committed"})
    sql(f"CREATE TABLE target (id INT, twice INT, cluster STRING) {options}")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path / 'checkpoints'}'")
    checkpoint = tmp_path / "checkpoints" / "insert-into_default.target"

    def insert(expected: list[tuple[int, int, str]]) -> None:
        sql("SET 'execution.runtime-mode' = 'streaming'")
        (job_id,) = sql("INSERT INTO target SELECT id, twice, cluster FROM orders WHERE id <> 2").first()
        query = spark.streams.get(job_id)
        query.processAllAvailable()
        query.stop()
        sql("SET 'execution.runtime-mode' = 'batch'")
        assert sorted(map(tuple, sql("SELECT * FROM target").collect())) == expected

    topics.produce(name, b'{"id": 1}', b'{"id": 2}')
    insert([(1, 2, "a")])
    streams.publish(a=(topics, name), b=(other_topics, name))  # a cluster is added while the query is stopped
    topics.produce(name, b'{"id": 3}')
    other_topics.produce(name, b'{"id": 11}')
    insert([(1, 2, "a"), (3, 6, "a"), (11, 22, "b")])
    forget_last_commit(checkpoint)
    other_topics.produce(name, b'{"id": 12}')
    repeated = [] if guarantee else [(3, 6, "a"), (11, 22, "b")]
    insert(sorted([(1, 2, "a"), (3, 6, "a"), (11, 22, "b"), (12, 24, "b"), *repeated]))


@pytest.mark.long
def test_functions_of_the_session_in_computed_columns(sql: Any, spark: Any, topics: Topics, streams: Streams) -> None:
    name = topics.create_named("dynamic-functions")
    topics.produce(name, b'{"id": 1}')
    streams.publish(a=(topics, name))
    spark.udf.register("plus_ten", lambda x: x + 10, "int")
    columns = "id INT, c STRING METADATA FROM 'kafka_cluster', ten AS plus_ten(id), padded AS lpad(c, id + 2, '-')"
    with pytest.raises(UnsupportedSqlError, match="plus_ten"):  # a function of the session does not outlive it
        sql(f"CREATE TABLE orders (id INT, ten AS plus_ten(id)) {streams.with_options()}")
    fallback = streams.with_options(**{"computed-columns.fallback": "spark"})
    sql(f"CREATE TEMPORARY TABLE orders ({columns}, pair AS named_struct('id', id)) {fallback}")
    assert tuple(sql("SELECT ten, padded, pair.id FROM orders").first()) == (11, "--a", 1)
    query = sql("SELECT ten, padded, pair.id FROM STREAM orders").writeStream.format("memory").queryName("rows").start()
    query.processAllAvailable()
    query.stop()
    assert [tuple(row) for row in spark.table("rows").collect()] == [(11, "--a", 1)]


def test_failures_of_the_service_name_the_table_and_show_no_secret(
    sql: Any, topics: Topics, streams: Streams, tmp_path: Path
) -> None:
    sql(f"CREATE TABLE orders (id INT) {streams.with_options()}")
    with pytest.raises(MetadataServiceError, match=r"service '.*' does not know stream '.*orders.json' of option"):
        sql("SELECT * FROM orders").collect()
    streams.publish(a=(topics, "t"))
    content = json.loads(streams.path.read_text())
    content["a"]["properties"]["no.such.property"] = SECRET
    streams.path.write_text(json.dumps(content))
    with pytest.raises(Exception, match=r"returned invalid 'properties' for cluster 'a'.*no\.such\.property") as raised:
        sql("SELECT * FROM orders").collect()
    assert SECRET not in str(raised.value)
