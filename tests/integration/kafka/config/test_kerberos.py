"""Spark queries with Kerberos, which the PyPI wheels lack: ``make test-kerberos`` builds a client with it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.kafka.config.librdkafka_properties import supports_kerberos
from kafka_sql.kafka.config.sasl import ticket_cache
from tests.kdc import REALM, KerberosBroker, missing_programs
from tests.topics import Topics

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        not supports_kerberos(),
        reason="this Kafka client does not support Kerberos: make test-kerberos",
    ),
    pytest.mark.skipif(bool(missing_programs()), reason=f"not installed: {', '.join(missing_programs())}"),
]


@pytest.fixture(scope="session", autouse=True)
def _environment(kerberos: KerberosBroker) -> None:
    """Spark's JVM inherits the environment, and so do its workers."""


@pytest.fixture(scope="module")
def alice_keytab(kerberos: KerberosBroker) -> Path:
    """The keytab of user alice."""
    return kerberos.kdc.keytab("alice")


@pytest.fixture
def queries(kerberos: KerberosBroker, sql: Any, spark: Any, tmp_path: Path) -> Callable[[dict[str, str], str], None]:
    """Return a function that writes and reads a batch, and runs an exactly-once stream."""
    topics = Topics(kerberos.plaintext_servers)

    def run(properties: dict[str, str], name: str) -> None:
        options = {f"properties.{key}": value for key, value in properties.items()}
        tables = {f"{name}_{end}": topics.create_named(f"{name}-{end}") for end in ("source", "target")}
        for table, topic in tables.items():
            exactly_once = {
                "sink.delivery-guarantee": "exactly-once",
                "sink.transactional-id-prefix": topic,
                "properties.isolation.level": "read_committed",
            }
            sql(f"CREATE TEMPORARY TABLE {table} (a INT) {topics.with_options(topic, **options, **exactly_once)}")
        sql(f"INSERT INTO {name}_source VALUES (1), (2)")
        assert sorted(sql(f"SELECT a FROM {name}_source").collect()) == [(1,), (2,)]
        sql(f"SET 'execution.checkpointing.dir' = '{tmp_path / 'checkpoints'}'")
        sql("SET 'execution.runtime-mode' = 'streaming'")
        (row,) = sql(f"INSERT INTO {name}_target SELECT a * 10 AS a FROM {name}_source").collect()
        query = spark.streams.get(row[0])
        query.processAllAvailable()
        query.stop()
        sql("RESET 'execution.runtime-mode'")
        written = topics.consume(f"{name}-target", 2, **{"isolation.level": "read_committed"})
        assert sorted(m.value() for m in written) == [b'{"a":10}', b'{"a":20}']

    return run


def test_a_keytab(kerberos: KerberosBroker, queries: Callable[[dict[str, str], str], None], alice_keytab: Path) -> None:
    kerberos.log_out()
    queries(kerberos.properties(f'useKeyTab=true keyTab="{alice_keytab}" principal="alice@{REALM}"'), "keytab")
    cache = ticket_cache()
    assert cache is not None
    assert stat.S_IMODE(os.stat(cache).st_mode) == 0o600


def test_a_ticket_cache(
    kerberos: KerberosBroker, queries: Callable[[dict[str, str], str], None], alice_keytab: Path
) -> None:
    kerberos.log_out()
    kerberos.log_in(alice_keytab, "alice")
    queries(kerberos.properties("useTicketCache=true"), "tickets")
    assert f"alice@{REALM}" in kerberos.tickets()


def test_another_service_name(
    kerberos: KerberosBroker, queries: Callable[[dict[str, str], str], None], alice_keytab: Path
) -> None:
    kerberos.log_out()
    login = f'useKeyTab=true keyTab="{alice_keytab}" principal="alice@{REALM}"'
    queries(kerberos.properties(login, "events"), "service")


def test_rejected(kerberos: KerberosBroker, sql: Any, alice_keytab: Path) -> None:
    """Without a ticket, and with the wrong service name."""
    topics = Topics(kerberos.plaintext_servers)
    topic = topics.create_named("rejected")
    kerberos.log_out()
    login = f'useKeyTab=true keyTab="{alice_keytab}" principal="alice@{REALM}"'
    cases = {
        "no_ticket": kerberos.properties("useTicketCache=true"),
        "other_service": {**kerberos.properties(login), "sasl.kerberos.service.name": "unknown"},
    }
    for name, properties in cases.items():
        options = topics.with_options(topic, **{f"properties.{key}": value for key, value in properties.items()})
        sql(f"CREATE TEMPORARY TABLE {name} (a INT) {options}")
        with pytest.raises(Exception, match=r"\[AUTHENTICATION\] .*'properties.sasl.kerberos.service.name'"):
            sql(f"SELECT * FROM {name}").collect()
