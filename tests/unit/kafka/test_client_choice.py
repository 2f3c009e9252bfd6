"""Test which client reads and writes a table, by its options, and what happens if the direct client cannot."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing, nullcontext
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import (
    BrokerError,
    FetchError,
    InvalidOptionError,
    UnsupportedOptionError,
    UnsupportedVersionError,
)
from kafka_sql.kafka import fetch, produce
from kafka_sql.kafka.client_choice import ClientChoice, choose_reader, choose_writer
from kafka_sql.kafka.direct.reads import reader
from kafka_sql.kafka.direct.writes import producer, transactional_producer
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.split import Split
from kafka_sql.options import connector as opt
from kafka_sql.sink.row_writer import can_use_direct, table_producer, table_transaction
from kafka_sql.table.table import Column, Table
from tests.unit.kafka.direct.record_batches import RecordBatch
from tests.unit.kafka.direct.simulated_broker import SimulatedBroker, simulated_broker

ALL = Split("t", 0, 0, 20)
SUPPORTED = "the direct client supports the table's settings"


@pytest.fixture
def broker() -> Iterator[SimulatedBroker]:
    with simulated_broker(t=1) as running:
        for offset in range(0, 20, 2):
            rows = [(i, 0, None, b"%d" % (offset + i)) for i in range(2)]
            running.logs["t", 0].append(RecordBatch(offset, rows, 1).encode())
        yield running
    for cache in (reader._CACHE, producer._CACHE, transactional_producer._CACHE):
        cache.close()
    reader._unsupported.clear()
    reader._logged.clear()
    reader._log_direct.cache_clear()
    fetch._log_librdkafka.cache_clear()
    produce._log_client.cache_clear()


@pytest.fixture
def librdkafka(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The splits that librdkafka reads."""
    splits: list[Any] = []

    def read_to_end(config: object, split: Split, *_: object) -> Iterator[Any]:
        splits.append((split.start, split.stop))
        yield "librdkafka"

    monkeypatch.setattr(fetch, "read_to_end", read_to_end)
    for function in ("cached_producer", "open_transaction"):
        monkeypatch.setattr(produce, function, lambda *_: nullcontext("librdkafka"))
    return splits


def table(connector: str = "kafka", **options: str) -> Definition:
    formats = {"value.format": "json", **({"key.format": "json"} if connector == "upsert-kafka" else {})}
    table_options = {
        "connector": connector,
        "topic": "t",
        "properties.bootstrap.servers": "h:1",
        **formats,
        **{key.replace("_", "."): value for key, value in options.items()},
    }
    primary_key = ("a",) if connector == "upsert-kafka" else ()
    column = Column("a", "INT", "INT", nullable=False)
    return validate_table(Table(("orders",), (column, Column("b", "INT", "INT")), table_options, primary_key))


def choices(definition: Definition) -> tuple[ClientChoice, ClientChoice]:
    options, config = definition.options, definition.client_config
    return choose_reader(options[opt.SCAN_CLIENT], config), choose_writer(options[opt.SINK_CLIENT], config)


@pytest.mark.parametrize("connector", ["kafka", "upsert-kafka"])
@pytest.mark.parametrize(
    ("options", "reading", "writing"),
    [
        ({}, ("direct", SUPPORTED), ("direct", SUPPORTED)),
        ({"scan_client": "direct", "sink_client": "Direct"}, ("direct", SUPPORTED), ("direct", SUPPORTED)),
        ({"scan_client": "librdkafka"}, ("librdkafka", "'scan.client' is 'librdkafka'"), ("direct", SUPPORTED)),
        ({"sink_client": "librdkafka"}, ("direct", SUPPORTED), ("librdkafka", "'sink.client' is 'librdkafka'")),
        (
            {"properties_partitioner": "consistent", "scan_client": "direct"},
            ("direct", SUPPORTED),
            ("librdkafka", "the direct client does not support 'properties.partitioner'"),
        ),
        (
            {"properties_debug": "msg", "properties_partitioner": "consistent"},
            ("librdkafka", "the direct client does not support 'properties.debug'"),
            ("librdkafka", "the direct client does not support 'properties.debug', 'properties.partitioner'"),
        ),
    ],
    ids=["default", "direct", "read by librdkafka", "written by librdkafka", "setting of writers", "settings"],
)
def test_choice_and_reason(
    connector: str, options: dict[str, str], reading: tuple[str, str], writing: tuple[str, str]
) -> None:
    definition = table(connector, **options)
    assert choices(definition) == (reading, writing)
    assert can_use_direct(definition) == (writing[0] == "direct")


@pytest.mark.parametrize("option", ["scan.client", "sink.client"])
def test_direct_is_refused_with_settings_that_only_librdkafka_supports(option: str) -> None:
    with pytest.raises(UnsupportedOptionError) as caught:
        table(**{option: "direct", "properties.debug": "msg"})
    assert caught.value.option == option
    assert caught.value.message == (
        f"Option '{option}' is 'direct', but the direct client does not support 'properties.debug'. Change that "
        f"option, or remove '{option}' to use librdkafka."
    )
    with pytest.raises(InvalidOptionError, match="expected one of 'auto', 'direct', 'librdkafka'"):
        table(**{option: "rdkafka"})


def read(broker: SimulatedBroker, client: str, **properties: str) -> list[Any]:
    """Return the values that the direct client reads, and 'librdkafka' for what it reads."""
    parts: Any = fetch.read_records(broker.config(**properties), ALL, client=client)
    with closing(parts):
        return [v for part in parts for v in ([part] if isinstance(part, str) else map(int, part.values.to_pylist()))]


def test_each_client_reads(broker: SimulatedBroker, librdkafka: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka_sql.kafka")
    assert read(broker, "direct") == list(range(20))
    assert read(broker, "auto") == list(range(20))
    assert librdkafka == []
    assert caplog.messages == ["topic 't': reading with the direct client"]  # once
    requests = len(broker.requests)
    for _ in range(2):
        assert read(broker, "librdkafka") == ["librdkafka"]
    assert librdkafka == [(0, 20)] * 2
    assert len(broker.requests) == requests
    assert caplog.messages[1:] == ["topic 't': reading with librdkafka: 'scan.client' is 'librdkafka'"]


def test_the_caller_learns_which_client_reads(broker: SimulatedBroker, librdkafka: list[Any]) -> None:
    older = bytearray(broker.logs["t", 0][5])
    older[16] = 1
    broker.logs["t", 0][5] = bytes(older)
    for client, expected in (
        ("auto", [("direct", 10), ("librdkafka", 0)]),
        ("librdkafka", [("librdkafka", 0)]),
    ):
        clients, counts = list[str](), dict[str, int]()
        parts: Any = fetch.read_records(broker.config(), ALL, client=client, on_client=clients.append)
        for part in parts:
            counts[clients[-1]] = counts.get(clients[-1], 0) + (0 if part == "librdkafka" else len(part.offsets))
        assert list(counts.items()) == expected


def test_direct_never_reads_with_librdkafka(broker: SimulatedBroker, librdkafka: list[Any]) -> None:
    older = bytearray(broker.logs["t", 0][5])
    older[16] = 1
    broker.logs["t", 0][5] = bytes(older)
    for _ in range(2):
        with pytest.raises(FetchError) as caught:
            read(broker, "direct")
        assert caught.value.message == (
            "t[0]@10: the direct client cannot read this: batches in the format before Apache Kafka 0.11. Option "
            "'scan.client' is 'direct': remove it to read this with librdkafka."
        )
        assert librdkafka == []
    assert read(broker, "auto") == [*range(10), "librdkafka"]
    assert librdkafka == [(10, 20)]
    with pytest.raises(FetchError, match=r"t\[0\]@0: .* does not support 'properties.debug'\. Option 'scan.client'"):
        read(broker, "direct", debug="msg")


def test_direct_raises_why_a_broker_rejects_it(
    broker: SimulatedBroker, librdkafka: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def reject(*_: object) -> None:
        raise BrokerError("SASL authentication failed.")

    with monkeypatch.context() as patches:
        patches.setattr(ConnectionPool, "connect_to", reject)
        with pytest.raises(BrokerError, match=r"SASL authentication failed\.$"):
            read(broker, "direct")
    broker.versions[ApiKey.FETCH] = (13, 17)
    with pytest.raises(UnsupportedVersionError, match="request Fetch"):
        read(broker, "direct")
    assert librdkafka == []


def definition_of(broker: SimulatedBroker, client: str, **options: str) -> Definition:
    host, port = broker.address
    return table(properties_bootstrap_servers=f"{host}:{port}", sink_client=client, **options)


def opened(definition: Definition, transactional_id: str | None = None) -> str:
    """Write a record, and return the client."""
    config = {**definition.client_config, "transaction.timeout.ms": "60000"}
    context = (
        table_producer(definition)
        if transactional_id is None
        else table_transaction(definition, config, transactional_id)
    )
    with context as opened_producer:
        if opened_producer == "librdkafka":
            return "librdkafka"
        opened_producer.produce(pa.array([b"written"], pa.binary()))
        opened_producer.flush()
        return "direct"


@pytest.mark.parametrize("transactional_id", [None, "orders-1"])
def test_each_client_writes(
    broker: SimulatedBroker, librdkafka: list[Any], transactional_id: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kafka_sql.kafka")
    for client in ("auto", "direct"):
        assert opened(definition_of(broker, client), transactional_id) == "direct"
    assert caplog.messages == ["Table 'orders': writing with the direct client"]  # once
    caplog.clear()
    batches = len(broker.logs["t", 0])
    for _ in range(2):
        assert opened(definition_of(broker, "librdkafka"), transactional_id) == "librdkafka"
        assert (
            opened(definition_of(broker, "auto", properties_partitioner="consistent"), transactional_id) == "librdkafka"
        )
    assert len(broker.logs["t", 0]) == batches
    assert caplog.messages == [
        "Table 'orders': writing with librdkafka: 'sink.client' is 'librdkafka'",
        "Table 'orders': writing with librdkafka: the direct client does not support 'properties.partitioner'",
    ]


@pytest.mark.parametrize("transactional_id", [None, "orders-1"])
def test_brokers_without_a_version(
    broker: SimulatedBroker, librdkafka: list[Any], transactional_id: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kafka_sql.kafka")
    broker.versions.pop(ApiKey.INIT_PRODUCER_ID, None)
    assert opened(definition_of(broker, "auto"), transactional_id) == "librdkafka"
    (message,) = caplog.messages
    assert message.startswith("Table 'orders': writing with librdkafka: Broker ")
    assert "does not support request InitProducerId in a suitable version" in message
    with pytest.raises(UnsupportedVersionError, match="InitProducerId"):
        opened(definition_of(broker, "direct"), transactional_id)


def test_other_errors_are_not_left_to_librdkafka(broker: SimulatedBroker, librdkafka: list[Any]) -> None:
    broker.errors[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    with pytest.raises(BrokerError, match="assigned no producer id"):
        opened(definition_of(broker, "auto"))
