"""Chaos runs detect which client is used, which requests are throttled, and how batches are compressed."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest

from kafka_sql.kafka import fetch, produce
from kafka_sql.kafka.split import Split
from kafka_sql.options.connector import AUTO, DIRECT
from tests.chaos.batch_codecs import batch_codecs
from tests.chaos.client_record import recorded_clients, recorded_throttling, throttle_times, used_clients
from tests.chaos.clusters import black_hole, silent_server
from tests.chaos.outcome import CODECS
from tests.unit.kafka.direct.simulated_broker import SimulatedBroker, simulated_broker


@pytest.fixture
def broker() -> Iterator[SimulatedBroker]:
    with simulated_broker(t=1) as running:
        yield running


@pytest.fixture(autouse=True)
def librdkafka(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace librdkafka's clients, which the simulated broker does not serve."""
    monkeypatch.setattr(fetch, "read_to_end", lambda *_: iter([]))
    monkeypatch.setattr(produce, "open_transaction", lambda *_: nullcontext("librdkafka"))


def copy(broker: SimulatedBroker, client: str, **properties: str) -> None:
    """Write and read a few rows with a client."""
    config = broker.config(**properties)
    with produce.open_producer(client, {**config, "transaction.timeout.ms": "60000"}, "t", "t", "x") as p:
        if p != "librdkafka":
            p.produce(pa.array([b"row"] * 100))
            p.flush()
    list(fetch.read_records(config, Split("t", 0, 0, 1), client=client))


def test_the_direct_client_is_recorded(broker: SimulatedBroker, tmp_path: Path) -> None:
    with recorded_clients(tmp_path):
        assert used_clients(tmp_path) == set()
        copy(broker, DIRECT)
    assert used_clients(tmp_path) == {"read direct", "write direct"}
    copy(broker, AUTO, partitioner="random")  # is no longer recorded
    assert used_clients(tmp_path) == {"read direct", "write direct"}


def test_a_fallback_is_recorded(broker: SimulatedBroker, tmp_path: Path) -> None:
    copy(broker, DIRECT)
    with recorded_clients(tmp_path):
        copy(broker, AUTO, partitioner="random", debug="all")
    assert used_clients(tmp_path) >= {"read librdkafka", "write librdkafka"}


def test_throttled_requests_are_recorded(broker: SimulatedBroker, tmp_path: Path) -> None:
    with recorded_throttling(tmp_path):
        copy(broker, DIRECT)
        assert throttle_times(tmp_path) == {}
        broker.throttle_ms = 10
        with produce.open_producer(DIRECT, broker.config(client_id="another"), "t", "t") as producer:
            producer.produce(pa.array([b"row"]))
            producer.flush()
    assert throttle_times(tmp_path)["Produce"] == 10


@pytest.mark.parametrize("codec", [*CODECS, "none"])
def test_codecs_of_batches(broker: SimulatedBroker, codec: str) -> None:
    copy(broker, DIRECT, compression_type=codec)
    copy(broker, DIRECT)
    records = b"".join(broker.logs["t", 0])
    assert list(batch_codecs(records[:-1])) == [None if codec == "none" else codec, None]


def test_unreachable_servers() -> None:
    with black_hole() as dropping, silent_server() as silent:
        host, port = silent.split(":")
        with socket.create_connection((host, int(port)), 0.2) as connection:
            connection.sendall(b"request")
            with pytest.raises(TimeoutError):
                connection.recv(1)
        host, port = dropping.split(":")
        with pytest.raises(TimeoutError):
            socket.create_connection((host, int(port)), 0.2)
