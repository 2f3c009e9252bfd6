"""Credential rotation: long-lived clients and running queries use new credentials without a restart."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka
from tests.batch_read import StreamingRead, define_table
from tests.certificates import sign_certificate
from tests.secured_broker import SCRAM, SESSION_SECONDS, SecuredBroker
from tests.topics import Topics

pytestmark = pytest.mark.integration
ROTATIONS = 10


def test_a_client_recreated_for_every_request(topics: Topics, tmp_path: Path) -> None:
    """A client must not be closed before its response has arrived."""
    topic, file = topics.create(), tmp_path / "names.properties"
    topics.produce(topic, b"x", b"y")
    file.write_text("name=first\n")
    cluster = Cluster(to_librdkafka({"bootstrap.servers": topics.bootstrap, "client.id": f"${{file:{file}:name}}"}))
    previous = cluster.admin()
    for number in range(ROTATIONS):
        file.write_text(f"name=client-{number}\n")
        assert cluster.latest([(topic, 0)]) == {(topic, 0): 2}
        assert cluster.admin() is not previous
        previous = cluster.admin()


def test_a_stream_with_a_client_recreated_for_every_batch(topics: Topics, tmp_path: Path) -> None:
    topic, file = topics.create(), tmp_path / "names.properties"
    file.write_text("name=first\n")
    options = {"properties_client_id": f"${{file:{file}:name}}", "properties_group_id": "rotating-stream"}
    stream = StreamingRead(define_table(topics, topic, **options))
    stream.values()
    for number in range(5):
        topics.produce(topic, b"%d" % number)
        file.write_text(f"name=client-{number}\n")
        assert stream.values() == [b"%d" % number]


# -- queries ---------------------------------------------------------------------------------------------------------


class RunningQuery:
    """An exactly-once query from one topic to another."""

    def __init__(self, secured: SecuredBroker, name: str, spark: Any, folder: Path, properties: dict[str, str]) -> None:
        self._topics, self._count = secured.topics, 0
        self._source, self._target = (secured.topics.create_named(f"{name}-{end}") for end in ("source", "target"))
        exactly_once = {
            "sink.delivery-guarantee": "exactly-once",
            "sink.transactional-id-prefix": name,
            "properties.isolation.level": "read_committed",
        }
        for end, topic in (("source", self._source), ("target", self._target)):
            spark.sql(f"CREATE TEMPORARY TABLE {name}_{end} (a INT) {secured.table(properties, topic, **exactly_once)}")
        spark.sql(f"SET 'execution.checkpointing.dir' = '{folder / 'checkpoints'}'")
        spark.sql("SET 'execution.runtime-mode' = 'streaming'")
        (row,) = spark.sql(f"INSERT INTO {name}_target SELECT a FROM {name}_source").collect()
        self._query = spark.streams.get(row[0])

    def batch(self) -> None:
        """Process one more record."""
        self._topics.produce(self._source, b'{"a": %d}' % self._count)
        self._count += 1
        self._query.processAllAvailable()

    def stop(self) -> None:
        """Stop the query, and check that each record was written once and in order."""
        self._query.stop()
        written = self._topics.consume(self._target, self._count, **{"isolation.level": "read_committed"})
        assert [m.value() for m in written] == [b'{"a":%d}' % i for i in range(self._count)]


@pytest.mark.long  # test_a_certificate_... is its short version
def test_a_password_rotated_during_a_query(secured: SecuredBroker, spark: Any, sql: Any, tmp_path: Path) -> None:
    """The listener requires re-authentication, which fails for clients with old credentials."""
    users, secrets = ("first", "second"), tmp_path / "secrets.properties"
    for user in users:
        secured.set_password(user, f"{user}-password")
        secured.grant_query_permissions(user, "password")
    secrets.write_text("user=first\npassword=first-password\n")
    login = f'username="${{file:{secrets}:user}}" password="${{file:{secrets}:password}}"'
    properties = {**secured.properties("SHORT", "SCRAM-SHA-512"), "sasl.jaas.config": f"{SCRAM} required {login};"}
    query = RunningQuery(secured, "password", spark, tmp_path, properties)
    query.batch()
    secrets.write_text("user=second\npassword=second-password\n")
    query.batch()
    secured.set_password("first", "no longer")
    end = time.monotonic() + 2 * SESSION_SECONDS  # longer than any session of the first user
    while time.monotonic() < end:
        query.batch()
    query.stop()


@pytest.mark.long
def test_a_certificate_rotated_during_a_query(secured: SecuredBroker, spark: Any, sql: Any, tmp_path: Path) -> None:
    store = tmp_path / "client.pem"
    certificates = {name: sign_certificate(secured.root, name) for name in ("first", "second")}
    for name in certificates:
        secured.grant_query_permissions(f"CN={name}", "certificate")
    store.write_text(certificates["first"].key() + certificates["first"].chain)
    properties = {k: v for k, v in secured.properties("MTLS").items() if "keystore" not in k}
    query = RunningQuery(secured, "certificate", spark, tmp_path, {**properties, "ssl.keystore.location": str(store)})
    query.batch()
    renewed = tmp_path / "renewed.pem"
    renewed.write_text(certificates["second"].key() + certificates["second"].chain)
    renewed.replace(store)  # at once: the query could read a store that is being written
    query.batch()
    secured.revoke_all("CN=first")  # a client with the old certificate fails immediately
    query.batch()
    query.batch()
    query.stop()
