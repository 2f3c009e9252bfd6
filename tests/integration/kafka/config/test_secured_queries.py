"""Spark queries with each listener and mechanism: write and read a batch, and run an exactly-once stream."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.errors import MissingOptionError
from tests.secured_broker import SecuredBroker

pytestmark = pytest.mark.integration
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
COMBINATIONS = [
    *(("SASL", mechanism) for mechanism in MECHANISMS),
    *(("BOTH", mechanism) for mechanism in MECHANISMS),
    ("ONLY_SCRAM", "SCRAM-SHA-512"),
    ("TLS", ""),
    ("MTLS", ""),
]
DEFAULT_COMBINATIONS = {("BOTH", "OAUTHBEARER"), ("MTLS", "")}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("listener", "mechanism"),
    [
        pytest.param(*combination, marks=() if combination in DEFAULT_COMBINATIONS else pytest.mark.long)
        for combination in COMBINATIONS
    ],
)
def test_queries(secured: SecuredBroker, sql: Any, spark: Any, tmp_path: Path, listener: str, mechanism: str) -> None:
    name = f"{listener}_{mechanism}".lower().replace("-", "_")
    for user in ("user", "CN=user"):
        secured.grant_query_permissions(user, "query-")
    tables = {end: secured.topics.create_named(f"query-{name}-{end}") for end in ("input_table", "output_table")}
    for end, topic in tables.items():
        options = {
            "sink.delivery-guarantee": "exactly-once",
            "sink.transactional-id-prefix": topic,
            "properties.isolation.level": "read_committed",
        }
        with_options = secured.table(secured.properties(listener, mechanism), topic, **options)
        sql(f"CREATE TEMPORARY TABLE {end} (a INT) {with_options}")
    sql("INSERT INTO input_table VALUES (1), (2)")
    assert sorted(sql("SELECT a FROM input_table").collect()) == [(1,), (2,)]
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path / 'checkpoints'}'")
    sql("SET 'execution.runtime-mode' = 'streaming'")
    (row,) = sql("INSERT INTO output_table SELECT a * 10 AS a FROM input_table").collect()
    query = spark.streams.get(row[0])
    query.processAllAvailable()
    query.stop()
    written = secured.topics.consume(tables["output_table"], 2, **{"isolation.level": "read_committed"})
    assert sorted(str(m.value()) for m in written) == ["b'{\"a\":10}'", "b'{\"a\":20}'"]


def test_statements_send_an_inherited_password_only_to_its_broker(secured: SecuredBroker, sql: Any) -> None:
    secured.grant_query_permissions("user", "query-")
    topic = secured.topics.create_named("query-inherited")
    sql(f"CREATE TEMPORARY TABLE declared (a INT) {secured.table(secured.properties('SASL', 'PLAIN'), topic)}")
    sql("INSERT INTO declared VALUES (1)")
    connected: list[bool] = []

    def accept() -> None:
        with other.accept()[0]:
            connected.append(True)

    with socket.create_server(("127.0.0.1", 0)) as other:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        servers = f"'properties.bootstrap.servers' = '127.0.0.1:{other.getsockname()[1]}'"
        for statement in (
            f"SELECT * FROM declared /*+ OPTIONS({servers}) */",
            f"INSERT INTO declared /*+ OPTIONS({servers}) */ VALUES (2)",
            f"CREATE TEMPORARY TABLE mine WITH ({servers}) LIKE declared",
            f"ALTER TABLE declared SET ({servers})",
        ):
            with pytest.raises(MissingOptionError, match=r"The statement must set them, too: '.*sasl\.jaas\.config'"):
                sql(statement).collect()
        assert connected == []
        assert sql("SELECT a FROM declared /*+ OPTIONS('scan.batch.max-rows' = '1') */").collect() == [(1,)]
        with socket.create_connection(other.getsockname()):  # the server would have noticed
            thread.join(30)
        assert connected == [True]
