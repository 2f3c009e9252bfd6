"""Reads, writes and transactions on a broker that supports the requests of a vendor's brokers, as far as is known.

These are emulations: Apache Kafka behind a proxy, which closes the connection on any other request.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.loopback import HOST, free_ports
from kafka_sql.errors import BrokerError, UnsupportedVersionError
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.transactions import list_ongoing_transactions
from kafka_sql.kafka.split import Split
from kafka_sql.sink.row_writer import table_producer
from tests import broker_scenarios as scenarios
from tests.broker_scenarios import CODECS, DIRECT
from tests.integration.kafka.broker_profiles.profile import profile_names, read_profile
from tests.integration.kafka.broker_profiles.proxy import ProfileProxy
from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

EVENT_HUBS: Final = "azure_event_hubs"
SAMPLE: Final = (EVENT_HUBS, "redpanda")  # not long: those that differ most from Apache Kafka
EVENT_HUBS_REQUEST: Final = 1_046_528  # bytes
# the first request that the profile lacks for exactly-once
REFUSALS: Final = {EVENT_HUBS: "AddPartitionsToTxn", "warpstream": "DescribeProducers"}


class ProfileTopics(Topics):
    """The topics of a broker behind a proxy.

    Attributes:
        name: the name of the profile.
        proxy: the proxy.
        broker: bootstrap servers of the broker itself.
    """

    def __init__(self, name: str, proxy: ProfileProxy, broker: str) -> None:
        super().__init__(proxy.address)
        self.name, self.proxy, self.broker = name, proxy, broker


@pytest.fixture(scope="module")
def profiles() -> Iterator[dict[str, ProfileTopics]]:
    """A broker with a proxy for each profile."""
    names = profile_names()
    ports = free_ports(2 * len(names))
    inner, outer = ports[: len(names)], ports[len(names) :]
    listeners = {
        "listeners": ",".join(f"L{i}://{HOST}:{port}" for i, port in enumerate(inner)),
        "advertised.listeners": ",".join(f"L{i}://{HOST}:{port}" for i, port in enumerate(outer)),
        "listener.security.protocol.map": ",".join(f"L{i}:PLAINTEXT" for i in range(len(names))),
    }
    with ExitStack() as stack:
        kafka = stack.enter_context(EmbeddedKafka(properties={"log.cleaner.backoff.ms": 200, **listeners}))
        proxies = [
            stack.enter_context(ProfileProxy(read_profile(name), *addresses))
            for name, *addresses in zip(names, outer, inner, strict=True)
        ]
        yield {
            name: ProfileTopics(name, proxy, kafka.bootstrap_servers)
            for name, proxy in zip(names, proxies, strict=True)
        }


@pytest.fixture(
    params=[name if name in SAMPLE else pytest.param(name, marks=pytest.mark.long) for name in profile_names()]
)
def vendor(request: pytest.FixtureRequest, profiles: dict[str, ProfileTopics]) -> Iterator[ProfileTopics]:
    """The broker with one of the profiles, which no request may violate."""
    topics = profiles[request.param]
    topics.proxy.reset()
    yield topics
    assert topics.proxy.refused == []


@pytest.fixture
def event_hubs(profiles: dict[str, ProfileTopics]) -> Iterator[ProfileTopics]:
    """The broker with the profile of Azure Event Hubs, whose limits may be replaced."""
    topics = profiles[EVENT_HUBS]
    before = topics.proxy.profile
    topics.proxy.reset()
    yield topics
    topics.proxy.profile = before
    assert topics.proxy.refused == []


@pytest.mark.parametrize("name", profile_names())
def test_profiles_name_their_sources(name: str) -> None:
    content = json.loads((Path(__file__).parent / "broker_profiles" / f"{name}.json").read_text())
    assert all(text.startswith(("documented: ", "inferred: ")) for text in content["sources"].values())
    assert {source for *_, source in content["apis"].values()} <= set(content["sources"])
    known = {key.title: key for key in ApiKey}
    assert {api: key for api, (key, *_) in content["apis"].items() if api in known}.items() <= known.items()


def test_the_proxy_closes_connections_on_other_requests(event_hubs: ProfileTopics) -> None:
    connection = Connection((HOST, int(event_hubs.bootstrap.rpartition(":")[2])), event_hubs.client())
    assert connection.versions[ApiKey.METADATA] == (0, 5)
    assert ApiKey.END_TXN not in connection.versions
    connection.versions[ApiKey.LIST_TRANSACTIONS] = (0, 0)
    with pytest.raises(ConnectionError):
        connection.ask(list_ongoing_transactions())
    connection.close()
    assert [request.key for request in event_hubs.proxy.refused] == [ApiKey.LIST_TRANSACTIONS]
    event_hubs.proxy.reset()


def test_compressed_reads(vendor: ProfileTopics) -> None:
    for codec in CODECS if vendor.name != EVENT_HUBS else ("none", "gzip"):
        scenarios.check_compressed_reads(vendor, codec, DIRECT)


@pytest.mark.long
def test_committed_reads(vendor: ProfileTopics) -> None:
    scenarios.check_committed_reads(vendor, DIRECT, vendor.broker)


@pytest.mark.long
def test_writes(vendor: ProfileTopics) -> None:
    scenarios.check_writes(vendor, DIRECT)
    scenarios.check_compressed_writes(vendor, "gzip")


@pytest.mark.long
def test_exactly_once(vendor: ProfileTopics, tmp_path: Path) -> None:
    if vendor.name in REFUSALS:
        with pytest.raises(UnsupportedVersionError, match=f"does not support request {REFUSALS[vendor.name]} "):
            scenarios.check_exactly_once(vendor, tmp_path)
        assert "exactly-once" in scenarios.failed_checks(vendor, exactly_once=True)
    else:
        scenarios.check_exactly_once(vendor, tmp_path)
        scenarios.check_all_aborted(vendor, scenarios.fail_transactions(vendor, 20))
        assert scenarios.failed_checks(vendor, exactly_once=True) == {}


@pytest.mark.sample(1)
def test_administration(vendor: ProfileTopics) -> None:
    scenarios.check_offsets(vendor)
    scenarios.check_topic_creation(vendor)
    if vendor.name == EVENT_HUBS:
        with pytest.raises(BrokerError, match=r"KIP-464\) not supported by broker"):
            scenarios.check_topic_creation_with_defaults(vendor)
    else:
        scenarios.check_topic_creation_with_defaults(vendor)
    assert scenarios.failed_checks(vendor) == {}


@pytest.mark.sample(1)
def test_insert_and_select(vendor: ProfileTopics, sql: Callable[..., Any]) -> None:
    topic = vendor.create(2)
    sql(f"CREATE TABLE of_vendor (a BIGINT) {vendor.with_options(topic)}")
    sql("INSERT INTO of_vendor SELECT id FROM range(1000)")
    assert [a for (a,) in sql("SELECT a FROM of_vendor ORDER BY a").collect()] == list(range(1000))


def test_librdkafka(vendor: ProfileTopics) -> None:
    """librdkafka is used for what the direct client does not support."""
    topic = vendor.create()
    vendor.produce(topic, *scenarios.records(10))
    pairs = [(message.offset(), message.value()) for message in vendor.consume(topic, 10)]
    assert pairs == scenarios.numbered(scenarios.records(10))


def test_requests_within_a_size_limit(event_hubs: ProfileTopics) -> None:
    """Event Hubs closes the connection on a larger one; its documentation requires 'max.request.size'."""
    topic, row = event_hubs.create(8), b"x" * 1_000
    values = pa.array([b"%d " % i + row for i in range(20_000)], pa.binary())
    with table_producer(scenarios.table(event_hubs, topic, max_request_size="1000000")) as producer:
        producer.produce(values, partitions=np.arange(20_000, dtype=np.int32) % 8)
        producer.flush()
    assert (event_hubs.proxy.closed, event_hubs.proxy.largest <= EVENT_HUBS_REQUEST) == (0, True)
    assert sorted(message.value() or b"" for message in event_hubs.consume(topic, 20_000, 8)) == sorted(
        values.to_pylist()
    )


@pytest.mark.long
def test_writes_after_the_brokers_closed_idle_connections(event_hubs: ProfileTopics) -> None:
    topic = event_hubs.create()
    event_hubs.proxy.profile = dataclasses.replace(event_hubs.proxy.profile, idle_seconds=1.0)
    with table_producer(scenarios.table(event_hubs, topic)) as producer:
        for part in range(3):
            producer.produce(pa.array([b"%d" % part], pa.binary()))
            producer.flush()
            wait_until(lambda: event_hubs.proxy.closed > part, "connections are closed")  # noqa: B023
    assert [message.value() for message in event_hubs.consume(topic, 3)] == [b"0", b"1", b"2"]
    scenarios.check_read(event_hubs.client(), Split(topic, 0, 0, 3), scenarios.numbered([b"0", b"1", b"2"]), DIRECT)
