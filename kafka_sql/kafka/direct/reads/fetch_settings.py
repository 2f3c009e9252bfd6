"""Read the settings of the direct reader from librdkafka's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafka_sql.kafka.config.properties import SOCKET_TIMEOUT, api_timeout
from kafka_sql.kafka.protocol.retries import Backoff, backoff_setting, request_timeout

_MAX_RESPONSE: Final = 4 << 20  # bytes of records per response; the next response arrives while one is decoded
_MAX_BATCH: Final = 100_000_000
_MAX_WAIT_MS: Final = 500
_SHORT_WAIT_MS: Final = 10  # the records of a split exist already
_LONGEST_WAIT_MS: Final = 5_000  # brokers with tiered storage may take seconds to read from it (KIP-405)
_METADATA_MAX_AGE_MS: Final = 300_000
# Java's defaults
_RETRY_BACKOFF_MS, _RETRY_BACKOFF_MAX_MS = 100, 1_000
_RECONNECT_BACKOFF_MS, _RECONNECT_BACKOFF_MAX_MS = 50, 1_000


@dataclass(frozen=True)
class FetchSettings:
    """How to fetch."""

    committed: bool
    check_crcs: bool
    rack: str  # the client's rack; empty to read from leaders only
    max_response: int  # bytes of records per response
    max_batch: int  # bytes of a decompressed batch
    min_bytes: int  # bytes of records that a response waits for if the partition may not have them yet
    short_wait_ms: int  # how long a response waits for records that the partition has
    max_wait_ms: int  # how long it waits for records that the partition may not have yet
    longest_wait_ms: int  # how long it waits at most, after responses without records that the partition has
    socket_timeout: float  # seconds to wait for records
    request_timeout: float  # seconds to wait for other responses
    stall_timeout: float  # seconds without records after which a read fails
    metadata_max_age: float  # seconds after which leaders, and the replicas that they prefer, are looked up again
    retry: Backoff  # the wait after an error code
    reconnect: Backoff  # the wait after a connection failure


def fetch_settings(config: Mapping[str, str], max_bytes: int) -> FetchSettings:
    """Return the settings in a configuration for which ``eligibility.find_read_obstacle`` returns None.

    Args:
        max_bytes: maximum bytes of a batch of records.
    """

    def number(key: str, default: int) -> int:
        return int(config.get(key, default))

    max_wait_ms = number("fetch.wait.max.ms", _MAX_WAIT_MS)
    return FetchSettings(
        committed=config["isolation.level"] == "read_committed",
        check_crcs=config["check.crcs"] == "true",
        rack=config.get("client.rack", ""),
        max_response=min(
            number("max.partition.fetch.bytes", _MAX_RESPONSE),
            number("fetch.message.max.bytes", _MAX_RESPONSE),
            number("fetch.max.bytes", _MAX_RESPONSE),
            _MAX_RESPONSE,
            max_bytes,
        ),
        max_batch=number("receive.message.max.bytes", _MAX_BATCH),
        min_bytes=number("fetch.min.bytes", 1),
        short_wait_ms=number("fetch.wait.max.ms", _SHORT_WAIT_MS),
        max_wait_ms=max_wait_ms,
        longest_wait_ms=max(max_wait_ms, _LONGEST_WAIT_MS),
        socket_timeout=number(SOCKET_TIMEOUT, 30_000) / 1000,
        request_timeout=request_timeout(config),
        stall_timeout=api_timeout(config),
        metadata_max_age=number("metadata.max.age.ms", _METADATA_MAX_AGE_MS) / 1000,
        retry=backoff_setting(config, "retry.backoff", _RETRY_BACKOFF_MS, _RETRY_BACKOFF_MAX_MS),
        reconnect=backoff_setting(config, "reconnect.backoff", _RECONNECT_BACKOFF_MS, _RECONNECT_BACKOFF_MAX_MS),
    )
