"""Reads, writes and transactions on the tested versions of Apache Kafka, and with the newest broker features."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kafka_sql.embedded.jars import KAFKA_VERSION
from kafka_sql.embedded.loopback import HOST, free_ports
from kafka_sql.errors import UnsupportedVersionError
from kafka_sql.kafka.protocol.codec import ApiKey
from tests import broker_scenarios as scenarios
from tests.broker_scenarios import CODECS, DIRECT
from tests.broker_versions import release, start_version
from tests.integration.kafka.broker_profiles.profile import ANY_REQUEST
from tests.integration.kafka.broker_profiles.proxy import ProfileProxy
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

VERSIONS: Final = ("2.8.2", "3.0.2", "3.5.2", "3.6.2", "3.9.1", "4.0.1", "4.1.1", KAFKA_VERSION)
SAMPLE: Final = ("2.8.2",)  # not long; the other tests use the newest version
# their fixtures start a broker of the version in the environment
EXACTLY_ONCE_FILES: Final = (
    "sink/exactly_once/test_protocol.py",
    "sink/exactly_once/test_admin.py",
    "sink/exactly_once/test_timeouts.py",
)
FIRST_EXACTLY_ONCE: Final = (3, 0)  # transactions can be listed and described: KIP-664
REFUSAL: Final = "does not support request ListTransactions .*Upgrade the brokers to Apache Kafka 3.0 or later"
NEWEST_FEATURES: Final = {"KAFKA_SQL_TEST_FEATURES": "transaction.version=2"}


class VersionTopics(Topics):
    """The topics of a broker of a version.

    Attributes:
        release: the first two numbers of the version.
        proxy: a proxy before the broker.
    """

    def __init__(self, bootstrap: str, version: str, proxy: ProfileProxy) -> None:
        super().__init__(bootstrap)
        self.release, self.proxy = release(version), proxy


@pytest.fixture(
    scope="module", params=[v if v in SAMPLE else pytest.param(v, marks=pytest.mark.long) for v in VERSIONS]
)
def broker(request: pytest.FixtureRequest) -> Iterator[VersionTopics]:
    inner, outer = free_ports(2)
    listener = {
        "listeners": f"PROXY://{HOST}:{inner}",
        "advertised.listeners": f"PROXY://{HOST}:{outer}",
        "listener.security.protocol.map": "PROXY:PLAINTEXT",
    }
    with (
        start_version(request.param, {"log.cleaner.backoff.ms": 200, **listener}) as kafka,
        ProfileProxy(ANY_REQUEST, outer, inner) as proxy,
    ):
        yield VersionTopics(kafka.bootstrap_servers, request.param, proxy)


@pytest.mark.long
@pytest.mark.parametrize("codec", CODECS)
def test_reads_of_compressed_records(broker: VersionTopics, codec: str) -> None:
    scenarios.check_compressed_reads(broker, codec, DIRECT)


@pytest.mark.parametrize("codec", CODECS[1:])
def test_reads_of_a_topic_with_a_codec(broker: VersionTopics, codec: str) -> None:
    scenarios.check_reads_of_a_topic_with_codec(broker, codec, DIRECT)


def test_committed_reads(broker: VersionTopics) -> None:
    scenarios.check_committed_reads(broker, DIRECT)


def test_idempotent_writes(broker: VersionTopics) -> None:
    scenarios.check_writes(broker, DIRECT)


@pytest.mark.long
@pytest.mark.parametrize("codec", CODECS[1:])
def test_compressed_writes(broker: VersionTopics, codec: str) -> None:
    scenarios.check_compressed_writes(broker, codec)


def test_offsets(broker: VersionTopics) -> None:
    scenarios.check_offsets(broker)


def test_topic_creation(broker: VersionTopics) -> None:
    scenarios.check_topic_creation(broker)
    scenarios.check_topic_creation_with_defaults(broker)


def test_check(broker: VersionTopics) -> None:
    assert scenarios.failed_checks(broker) == {}


def test_exactly_once(broker: VersionTopics, tmp_path: Path) -> None:
    if broker.release < FIRST_EXACTLY_ONCE:
        with pytest.raises(UnsupportedVersionError, match=REFUSAL):
            scenarios.check_exactly_once(broker, tmp_path)
    else:
        scenarios.check_exactly_once(broker, tmp_path)


def test_check_of_exactly_once(broker: VersionTopics) -> None:
    failed = scenarios.failed_checks(broker, exactly_once=True)
    if broker.release < FIRST_EXACTLY_ONCE:
        assert re.search(REFUSAL, failed["exactly-once"])
    else:
        assert failed == {}


def test_transactions_in_new_topics(broker: VersionTopics) -> None:
    """Version 3.6 may reject batches with INVALID_TXN_STATE if a broker has just become the leader of the partition."""
    scenarios.check_transactions_in_new_topics(broker, 5)


def test_failed_transactions(broker: VersionTopics) -> None:
    scenarios.check_all_aborted(broker, scenarios.fail_transactions(broker, 20))


def test_an_abort_does_not_overtake_batches(broker: VersionTopics) -> None:
    """Before 3.6, a batch that arrives after the abort would open a transaction that no producer ends."""
    broker.proxy.delays = {ApiKey.PRODUCE: 0.1}
    topic = scenarios.fail_transactions(Topics(broker.proxy.address), 1)
    _await_requests(broker.proxy)
    broker.proxy.delays = {}
    assert ApiKey.PRODUCE in {request.key for request in broker.proxy.requests}
    scenarios.check_all_aborted(broker, topic)


def _await_requests(proxy: ProfileProxy) -> None:
    """Wait until a proxy has forwarded all delayed requests."""
    count = -1
    while count != len(proxy.requests):
        count = len(proxy.requests)
        time.sleep(1)


def test_insert_and_select(broker: VersionTopics, sql: Callable[..., Any]) -> None:
    topic = broker.create(2)
    sql(f"CREATE TABLE versioned (a BIGINT, b STRING) {broker.with_options(topic)}")
    sql("INSERT INTO versioned SELECT id, concat('row ', id) FROM range(1000)")
    found = sql("SELECT a, b FROM versioned ORDER BY a").collect()
    assert [tuple(row) for row in found] == [(i, f"row {i}") for i in range(1000)]


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "environment",
    [
        *({"KAFKA_SQL_TEST_VERSION": version} for version in VERSIONS if release(version) >= FIRST_EXACTLY_ONCE),
        {"KAFKA_SQL_TEST_VERSION": "4.1.1", **NEWEST_FEATURES},
        NEWEST_FEATURES,
    ],
    ids=lambda environment: "-".join(environment.values()),
)
def test_exactly_once_in_detail(environment: dict[str, str]) -> None:
    here = Path(__file__).parents[1]
    files = (str(here / name) for name in EXACTLY_ONCE_FILES)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long", *files],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=1700,
    )
    assert done.returncode == 0, done.stdout[-5000:]
