"""Fixtures for tests with special brokers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_sql.embedded import EmbeddedKafka
from tests.broker_versions import finalize_features, use_version
from tests.kdc import KerberosBroker, kerberos_broker
from tests.secured_broker import SecuredBroker, secured_broker
from tests.topics import Topics
from tests.transaction_writers import WriterHarness


@pytest.fixture(scope="session")
def fast_abort_topics() -> Iterator[Topics]:
    """A broker that checks for timed-out transactions every 200 ms, for the whole run."""
    interval = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    with contextlib.ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patched:
            use_version(patched)
            kafka = EmbeddedKafka(properties={interval: 200, "log.cleaner.backoff.ms": 200})
            stack.enter_context(kafka)
        finalize_features(kafka)
        yield Topics(kafka.bootstrap_servers)


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A broker with authentication, for the whole run."""
    with secured_broker(tmp_path_factory.mktemp("secured")) as broker:
        yield broker


@pytest.fixture(scope="session")
def kerberos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KerberosBroker]:
    """A KDC, and a broker that uses it, for the whole run."""
    with kerberos_broker(tmp_path_factory.mktemp("kerberos")) as broker:
        yield broker


@pytest.fixture
def sink(fast_abort_topics: Topics, tmp_path: Path) -> Iterator[WriterHarness]:
    harness = WriterHarness(fast_abort_topics, tmp_path)
    yield harness
    harness.close()


@pytest.fixture
def other(fast_abort_topics: Topics, tmp_path: Path, sink: WriterHarness) -> Iterator[WriterHarness]:
    """Another query with the same transactional id prefix."""
    harness = WriterHarness(fast_abort_topics, tmp_path / "other", prefix=sink.prefix)
    yield harness
    harness.close()
