"""Fixtures of the tests on real servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_sql.embedded import EmbeddedKafka
from tests.broker_versions import finalize_features, use_version
from tests.kdc import Kerberized, kerberized
from tests.secured_broker import Secured, secured_broker
from tests.topics import Topics
from tests.transaction_writers import Sink


@pytest.fixture(scope="module")
def impatient() -> Iterator[Topics]:
    """A broker that looks for transactions that have timed out every 200 ms."""
    often = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    with pytest.MonkeyPatch.context() as patched:
        use_version(patched)
        with EmbeddedKafka(properties={often: 200, "log.cleaner.backoff.ms": 200}) as kafka:
            finalize_features(kafka)
            yield Topics(kafka.bootstrap_servers)


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """One broker that asks who one is, for the whole run."""
    with secured_broker(tmp_path_factory.mktemp("secured")) as broker:
        yield broker


@pytest.fixture(scope="session")
def kerberos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kerberized]:
    """One KDC, and a broker that knows it."""
    with kerberized(tmp_path_factory.mktemp("kerberos")) as broker:
        yield broker


@pytest.fixture
def sink(impatient: Topics, tmp_path: Path) -> Iterator[Sink]:
    one = Sink(impatient, tmp_path)
    yield one
    one.close()


@pytest.fixture
def other(impatient: Topics, tmp_path: Path, sink: Sink) -> Iterator[Sink]:
    """Another query under the same prefix."""
    one = Sink(impatient, tmp_path / "other", prefix=sink.prefix)
    yield one
    one.close()
