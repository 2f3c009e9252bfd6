"""Test the checks of a table's brokers, with a cluster in memory."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.checks import brokers as broker_checks
from kafka_sql.checks import table
from kafka_sql.checks.credentials import check_encryption
from kafka_sql.checks.finding import Finding, run_check
from kafka_sql.checks.table import check_table
from kafka_sql.definition import validate_table
from kafka_sql.errors import BrokerError, TopicNotFoundError, UnsupportedVersionError
from kafka_sql.kafka.admin.descriptions import TopicState
from kafka_sql.kafka.protocol import token_cache
from kafka_sql.table.table import Column, Table
from tests.unit.kafka import token_functions
from tests.unit.source.fake_cluster import FakeCluster, Log, define

SCHEMA = pa.schema([("v", pa.binary())])
NOW = 1_800_000_000
HEALTHY = TopicState(2, 3, (), (), frozenset({"READ", "WRITE"}))


class Cluster(FakeCluster):
    """A cluster whose brokers also describe topics, groups and transactions.

    Attributes:
        state: the state of every topic.
        may_read: whether the user may read every group; None if the brokers do not report it.
        writable_ids: the transactional ids that the user may write as.
        timeout: the transaction timeout in milliseconds.
        unsupported: the error if brokers lack a request that exactly-once needs.
    """

    state = HEALTHY
    may_read: bool | None = True
    writable_ids: tuple[str, ...] = ("shop-t-check", "shop-driver-check")
    timeout = 900_000.0
    unsupported = ""

    def may_read_group(self, group: str) -> bool | None:
        return self.may_read


@pytest.fixture
def brokers() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    fake = Cluster({("t", 0): Log(0, 2, timestamps={1: (NOW - 30) * 1000}), ("t", 1): Log()})

    class Transactions:
        def __init__(self, config: object) -> None:
            pass

        def can_write(self, transactional_id: str) -> bool:
            return transactional_id in fake.writable_ids

        def require_support(self) -> None:
            if fake.unsupported:
                raise UnsupportedVersionError(fake.unsupported)

        def close(self) -> None:
            pass

    monkeypatch.setattr(broker_checks, "Cluster", lambda config: fake)
    monkeypatch.setattr(broker_checks, "describe_topics", lambda admin, topics: dict.fromkeys(topics, fake.state))
    monkeypatch.setattr(broker_checks, "TransactionAdmin", Transactions)
    monkeypatch.setattr(broker_checks, "transaction_timeout", lambda definition: fake.timeout)
    monkeypatch.setattr(broker_checks.time, "time", lambda: NOW)
    return fake


def findings(brokers: str, **options: str) -> dict[str, tuple[bool | None, str]]:
    results = list(check_table(define(properties_bootstrap_servers=brokers, **options), SCHEMA))
    return {finding.subject: (finding.ok, finding.message) for finding in results}


def test_a_healthy_table(cluster: Cluster, brokers: str) -> None:
    assert findings(brokers, properties_group_id="g") == {
        "settings": (True, "secret references can be resolved, and key and trust stores can be read"),
        "scan.client": (True, "direct, because the direct client supports the table's settings"),
        "sink.client": (True, "direct, because the direct client supports the table's settings"),
        "real-time mode": (True, "can be read and written"),
        f"reachable {brokers}": (True, "connected"),
        "authentication": (True, "the brokers responded (PLAINTEXT)"),
        "topic 't'": (True, "2 partitions, replication factor 3"),
        "read 't'": (True, "allowed"),
        "write 't'": (True, "allowed"),
        "group": (True, "allowed to commit and read offsets"),
        "clock": (True, "the newest record is 30 s old"),
    }


def test_real_time_mode(cluster: Cluster, brokers: str) -> None:
    ok, message = findings(brokers, sink_parallelism="2")["real-time mode"]
    assert ok is True
    assert message.startswith(
        "can be read; cannot be written: Table 'db.orders': option 'sink.parallelism' = '2' is not"
    )
    ok, message = findings(brokers, properties_queued_min_messages="5")["real-time mode"]
    assert ok is None
    assert message.startswith(
        "cannot be read or written: Table 'db.orders': option 'properties.queued.min.messages' is not"
    )


def test_the_mechanism_of_authentication(cluster: Cluster, brokers: str) -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    results = findings(
        brokers,
        properties_security_protocol="SASL_PLAINTEXT",
        properties_sasl_mechanism="PLAIN",
        properties_sasl_jaas_config=f'{module} required username="u" password="p";',
    )
    assert results["authentication"] == (True, "the brokers responded (SASL_PLAINTEXT, PLAIN)")


def test_the_provider_of_tokens(cluster: Cluster, brokers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_cache, "_tokens", {})
    properties = {"properties_security_protocol": "SASL_PLAINTEXT", "properties_sasl_mechanism": "OAUTHBEARER"}
    function = f"{token_functions.__name__}:numbered"

    def tokens(provider: str) -> tuple[bool | None, str]:
        key = "properties_sasl_oauthbearer_token-provider"
        return findings(brokers, **properties, **{key: provider})["tokens"]

    ok, message = tokens(function)
    assert ok
    assert re.fullmatch(rf"{re.escape(function)} returned a token, which expires in 3,(600|599) s", message)
    ok, message = tokens("no_such_module:f")
    assert ok is False
    assert "'no_such_module:f': module 'no_such_module' cannot be imported here" in message
    assert "tokens" not in findings(brokers)


def test_clients(cluster: Cluster, brokers: str) -> None:
    results = findings(brokers, scan_client="librdkafka", properties_partitioner="consistent")
    assert results["scan.client"] == (True, "librdkafka, because 'scan.client' is 'librdkafka'")
    assert results["sink.client"] == (
        True,
        "librdkafka, because the direct client does not support 'properties.partitioner'",
    )


def test_exactly_once_needs_transactional_ids(cluster: Cluster, brokers: str) -> None:
    exactly_once = {"sink_delivery__guarantee": "exactly-once", "sink_transactional__id__prefix": "shop"}
    results = findings(brokers, **exactly_once)
    assert results["transactional id of tasks"] == (True, "allowed to write as 'shop-t-check'")
    assert results["transactional id of the driver"] == (True, "allowed to write as 'shop-driver-check'")
    assert results["exactly-once"] == (True, "the brokers keep a transaction open for 900 s")
    cluster.unsupported = "no ListTransactions"
    assert findings(brokers, **exactly_once)["exactly-once"] == (False, "[UNSUPPORTED_VERSION] no ListTransactions")
    cluster.writable_ids = ("shop-t-check",)
    results = findings(brokers, **exactly_once)
    assert results["transactional id of tasks"][0] is True
    assert results["transactional id of the driver"][0] is False
    assert "not allowed to write as 'shop-driver-check'. Grant WRITE" in results["transactional id of the driver"][1]


def test_missing_permissions(cluster: Cluster, brokers: str) -> None:
    cluster.state = replace(HEALTHY, allowed_operations=frozenset({"WRITE"}))
    cluster.may_read = False
    results = findings(brokers, properties_group_id="g")
    assert [results[subject][0] for subject in ("read 't'", "write 't'", "group")] == [False, True, False]
    assert "not allowed. Grant READ on the topic." in results["read 't'"][1]
    assert "not allowed to use group 'g' ('properties.group.id'). Grant READ on it." in results["group"][1]


def test_brokers_that_do_not_report_permissions(cluster: Cluster, brokers: str) -> None:
    cluster.state, cluster.may_read = replace(HEALTHY, allowed_operations=None), None
    results = findings(brokers, properties_group_id="g")
    assert results["read 't'"] == (True, "the brokers do not report allowed operations")
    assert results["group"][0] is True


def test_partitions_in_trouble(cluster: Cluster, brokers: str) -> None:
    cluster.state = replace(HEALTHY, under_replicated=(0, 1))
    assert findings(brokers)["topic 't'"] == (True, "2 partitions, replication factor 3; under-replicated: 0, 1")
    cluster.state = replace(HEALTHY, leaderless=(1,))
    ok, message = findings(brokers)["topic 't'"]
    assert ok is False
    assert "partitions without a leader: 1. Check the brokers." in message


def test_a_clock_that_is_behind_the_newest_record(cluster: Cluster, brokers: str) -> None:
    log = cluster.logs["t", 0]
    log.timestamps = {1: (NOW + 60) * 1000}
    assert findings(brokers)["clock"] == (True, "the newest record is 0 s old")
    log.timestamps = {1: (NOW + 61) * 1000}
    ok, message = findings(brokers)["clock"]
    assert ok is False
    assert "the newest record is 61 s ahead of this machine's clock" in message
    log.timestamps = {}
    assert findings(brokers)["clock"] == (None, "no record with a timestamp")


def test_a_topic_that_does_not_exist(cluster: Cluster, brokers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_found(*_: object) -> Any:
        raise TopicNotFoundError("Topic 't' not found")

    monkeypatch.setattr(broker_checks, "list_partitions", not_found)
    results = findings(brokers, properties_group_id="g")
    assert results["topic"][0] is False
    assert "Topic 't' not found" in results["topic"][1]
    assert "read 't'" not in results
    assert results["group"][0] is True  # the group does not depend on the topic
    assert results["clock"][0] is None


def test_a_pattern_without_topics(cluster: Cluster, brokers: str) -> None:
    results = findings(brokers, topic="", topic__pattern="none.*")
    assert results["topic"] == (None, "no topic exists yet")
    assert "read 't'" not in results


def test_the_first_failure_ends_the_checks_that_depend_on_it(
    cluster: Cluster, brokers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable() -> Any:
        raise BrokerError("wrong password")

    local = ["settings", "scan.client", "sink.client", "real-time mode"]
    assert list(findings("127.0.0.1:1")) == [*local, "reachable 127.0.0.1:1"]
    assert (
        "Check 'properties.bootstrap.servers' and the network." in findings("127.0.0.1:1")["reachable 127.0.0.1:1"][1]
    )
    assert findings(f"127.0.0.1:1, PLAINTEXT://{brokers}")["authentication"][0] is True  # one broker is enough
    monkeypatch.setattr(cluster, "topics", unavailable)
    results = findings(brokers)
    assert list(results) == [*local, f"reachable {brokers}", "authentication"]
    assert results["authentication"][0] is False
    unresolvable = findings(brokers, properties_ssl_key_password="${env:NOT_SET_ANYWHERE}")
    assert list(unresolvable) == ["settings"]
    assert unresolvable["settings"][0] is False


SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.username": "u", "sasl.password": "p"}
OAUTH = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "me",
    "sasl.oauthbearer.client.secret": "s",
}
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
VERIFIED, HOST_NAMES = "enable.ssl.certificate.verification", "ssl.endpoint.identification.algorithm"
TLS = {"security.protocol": "SSL"}
AVRO = {"format": "avro-confluent"}
TOKEN = {"avro-confluent.bearer-auth.token": "t"}
URL = "avro-confluent.url"


@pytest.mark.parametrize(
    ("properties", "options", "expected"),
    [
        ({}, {}, ""),
        (
            {**SASL, "sasl.mechanism": "PLAIN"},
            {},
            "the password is sent in clear text. Set 'properties.security.protocol'",
        ),
        ({**SASL, "sasl.mechanism": "PLAIN", "bootstrap.servers": "localhost:1,127.0.0.2:1,[::1]:1"}, {}, ""),
        ({**SASL, "sasl.mechanism": "PLAIN", "bootstrap.servers": "localhost:1,b:1"}, {}, "in clear text"),
        ({**SASL, "sasl.mechanism": "PLAIN", "security.protocol": " sasl_plaintext"}, {}, "in clear text"),
        ({**SASL, "sasl.mechanism": "PLAIN", "security.protocol": "${env:PROTOCOL}"}, {}, "in clear text"),
        ({**SASL, "sasl.mechanism": "PLAIN", "security.protocol": "SASL_SSL"}, {}, ""),
        ({**SASL, "sasl.mechanism": "SCRAM-SHA-512"}, {}, "can try to guess the password"),
        ({**OAUTH, ENDPOINT: "https://login.example/token"}, {}, ""),
        ({**OAUTH, ENDPOINT: "http://login.example/token"}, {}, f"with https:// in 'properties.{ENDPOINT}'"),
        ({**OAUTH, ENDPOINT: "HTTP://login.example/token"}, {}, "the client secret is sent in clear text"),
        ({**OAUTH, ENDPOINT: "http://127.0.0.1:5/token"}, {}, ""),
        (
            {**OAUTH, ENDPOINT: "https://login.example/token", "security.protocol": "SASL_PLAINTEXT"},
            {},
            "the token is sent in clear text",
        ),
        (TLS, {}, ""),
        ({**TLS, VERIFIED: "F"}, {}, "certificates are not verified: a server that pretends to be the broker gets"),
        ({**TLS, HOST_NAMES: ""}, {}, "host names .* are not verified: with any certificate of a trusted authority"),
        ({**SASL, "sasl.mechanism": "PLAIN", **TLS, HOST_NAMES: "None"}, {}, f"Remove 'properties.{HOST_NAMES}'$"),
        ({VERIFIED: "false"}, {}, ""),  # without TLS
        ({**TLS, VERIFIED: "false", "bootstrap.servers": "localhost:1,[::1]:2"}, {}, ""),
        ({}, {**AVRO, URL: "http://registry.example"}, ""),
        (
            {},
            {**AVRO, URL: "http://registry.example", **TOKEN},
            "registry of the value .* with https:// in 'avro-confl",
        ),
        ({}, {**AVRO, URL: "http://u:p@registry.example"}, "the credentials for the registry of the value"),
        ({}, {**AVRO, URL: "https://u:p@registry.example", **TOKEN}, ""),
        ({}, {**AVRO, URL: "http://localhost:5", **TOKEN}, ""),
        (
            {},
            {**AVRO, URL: "http://registry.example", "avro-confluent.properties.request.header.Authorization": "t"},
            "are sent in clear text",
        ),
        ({}, {**AVRO, URL: "http://registry.example", "avro-confluent.ssl.truststore.password": "p"}, ""),
    ],
)
def test_credentials_without_tls(
    monkeypatch: pytest.MonkeyPatch, properties: dict[str, str], options: dict[str, str], expected: str
) -> None:
    monkeypatch.setenv("PROTOCOL", "SASL_PLAINTEXT")
    base = {"connector": "kafka", "topic": "t", "format": "raw", "properties.bootstrap.servers": "b:1", **options}
    settings = {**base, **{f"properties.{key}": value for key, value in properties.items()}}
    columns = (Column("v", "STRING", "STRING"),)
    definition = validate_table(Table(("db", "orders"), columns, settings))
    warnings = list(check_encryption(definition, {"": definition.client_config}))
    assert [(w.subject, w.ok, w.is_warning) for w in warnings] == [("encryption", True, True)] * bool(expected)
    assert re.search(expected, " ".join(w.message for w in warnings))


def two_clusters(stream_ids: list[str] | None, properties: dict[str, str]) -> Any:
    clusters = {"a": {"security.protocol": "SSL", VERIFIED: "false"}, "b": {"security.protocol": "SSL"}}
    return {
        "s": {
            name: {"topics": ["t"], "properties": {**more, "bootstrap.servers": "b:1"}}
            for name, more in clusters.items()
        }
    }


def test_the_clusters_of_a_metadata_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_check_streams", lambda definition: "reachable")
    options = {"connector": "dynamic-kafka", "metadata-service": f"{__name__}:two_clusters", "stream-ids": "s"}
    settings = {**options, **AVRO, URL: "http://registry.example", **TOKEN}
    dynamic = validate_table(Table(("t",), (Column("v", "STRING", "STRING"),), settings))
    service, brokers, registry = (finding.message for finding in check_table(dynamic, SCHEMA))
    assert service == "reachable"
    assert brokers.startswith("cluster 'a': the brokers' certificates are not verified")
    assert registry.startswith("the credentials for the registry of the value are sent in clear text")


def test_a_finding_as_a_line() -> None:
    assert str(Finding("t", "encryption", True, "exposed", is_warning=True)) == "WARN    t  encryption: exposed"
    assert str(Finding("t", "clock", True, "fine")) == "ok      t  clock: fine"
    assert str(Finding("t", "clock", None, "unknown")) == "-       t  clock: unknown"

    def fail() -> str:
        raise BrokerError("late")

    assert str(run_check("t", "clock", fail)).startswith("FAILED  t  clock: ")
