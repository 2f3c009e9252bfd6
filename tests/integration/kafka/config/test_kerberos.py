"""Spark's queries with Kerberos, which PyPI's Kafka client has not: ``make test-kerberos`` builds one that has it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.kafka.config.kerberos import librdkafka_features
from tests.kdc import REALM, KerberosBroker, missing_programs
from tests.topics import Topics

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        "sasl_gssapi" not in librdkafka_features(), reason="this Kafka client has no Kerberos: make test-kerberos"
    ),
    pytest.mark.skipif(bool(missing_programs()), reason=f"not installed: {', '.join(missing_programs())}"),
]


@pytest.fixture(scope="session", autouse=True)
def _environment(kerberos: KerberosBroker) -> None:
    """Spark's Java starts with it, and its workers have it from there."""


@pytest.fixture(scope="module")
def alice(kerberos: KerberosBroker) -> Path:
    """Her keytab."""
    return kerberos.kdc.keytab("alice")


@pytest.fixture
def queries(kerberos: KerberosBroker, sql: Any, spark: Any, tmp_path: Path) -> Callable[[dict[str, str], str], None]:
    """A batch is written and read, and streamed on, exactly once."""
    topics = Topics(kerberos.plaintext_servers)

    def run(properties: dict[str, str], name: str) -> None:
        given = {f"properties.{key}": value for key, value in properties.items()}
        tables = {f"{name}_{end}": topics.create_named(f"{name}-{end}") for end in ("source", "target")}
        for table, topic in tables.items():
            options = {
                "sink.delivery-guarantee": "exactly-once",
                "sink.transactional-id-prefix": topic,
                "properties.isolation.level": "read_committed",
            }
            sql(f"CREATE TEMPORARY TABLE {table} (a INT) {topics.with_options(topic, **given, **options)}")
        sql(f"INSERT INTO {name}_source VALUES (1), (2)")
        assert sorted(sql(f"SELECT a FROM {name}_source").collect()) == [(1,), (2,)]
        sql(f"SET 'execution.checkpointing.dir' = '{tmp_path / 'checkpoints'}'")
        sql("SET 'execution.runtime-mode' = 'streaming'")
        (row,) = sql(f"INSERT INTO {name}_target SELECT a * 10 AS a FROM {name}_source").collect()
        query = spark.streams.get(row[0])
        query.processAllAvailable()
        query.stop()
        sql("RESET 'execution.runtime-mode'")
        written = topics.take(f"{name}-target", 2, **{"isolation.level": "read_committed"})
        assert sorted(m.value() for m in written) == [b'{"a":10}', b'{"a":20}']

    return run


def test_a_keytab(kerberos: KerberosBroker, queries: Callable[[dict[str, str], str], None], alice: Path) -> None:
    kerberos.log_out()
    queries(kerberos.properties(f'useKeyTab=true keyTab="{alice}" principal="alice@{REALM}"'), "keytab")


def test_a_ticket_cache(kerberos: KerberosBroker, queries: Callable[[dict[str, str], str], None], alice: Path) -> None:
    kerberos.log_out()
    kerberos.log_in(alice, "alice")
    queries(kerberos.properties("useTicketCache=true"), "tickets")
    assert f"alice@{REALM}" in kerberos.tickets()


def test_a_service_of_another_name(
    kerberos: KerberosBroker, queries: Callable[[dict[str, str], str], None], alice: Path
) -> None:
    kerberos.log_out()
    login = f'useKeyTab=true keyTab="{alice}" principal="alice@{REALM}"'
    queries(kerberos.properties(login, "events"), "service")


def test_refused(kerberos: KerberosBroker, sql: Any, alice: Path) -> None:
    """No ticket, and a service that the broker is not."""
    topics = Topics(kerberos.plaintext_servers)
    topic = topics.create_named("refused")
    kerberos.log_out()
    login = f'useKeyTab=true keyTab="{alice}" principal="alice@{REALM}"'
    cases = {
        "no_ticket": kerberos.properties("useTicketCache=true"),
        "other_service": {**kerberos.properties(login), "sasl.kerberos.service.name": "stranger"},
    }
    for name, properties in cases.items():
        options = topics.with_options(topic, **{f"properties.{key}": value for key, value in properties.items()})
        sql(f"CREATE TEMPORARY TABLE {name} (a INT) {options}")
        with pytest.raises(Exception, match=r"\[AUTHENTICATION\] .*'properties.sasl.kerberos.service.name'"):
            sql(f"SELECT * FROM {name}").collect()
