"""Read the settings of fetches, and wait for records that do not arrive at once: how long, and when to give up."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafka_sql.kafka.config.properties import SOCKET_TIMEOUT, api_timeout
from kafka_sql.kafka.fetch_errors import deleted_topic_error, stalled_error
from kafka_sql.kafka.protocol.errors import RetriableError, UnknownTopicError
from kafka_sql.kafka.protocol.fetch import FetchResult
from kafka_sql.kafka.protocol.retries import Backoff, backoff_setting, request_timeout
from kafka_sql.kafka.split import Split

_LOG = logging.getLogger("kafka_sql.kafka")
_MIN_TIMEOUT: Final = 1.0  # seconds for a response, however short the stall timeout is
_MAX_UNKNOWN: Final = 10.0  # seconds for which brokers may not know a topic that existed when the read was planned


class FetchWait:
    """The wait for the records at one offset.

    Attributes:
        fetch_ms: how long the next response waits for records.
        min_bytes: bytes of records that it waits for.
        waited: seconds since the wait began.
    """

    def __init__(self, split: Split, offset: int, settings: FetchSettings) -> None:
        self._split, self._offset, self._settings = split, offset, settings
        self._began = self._requested = time.monotonic()
        self._deadline = self._began + settings.stall_timeout
        self._failures = 0
        self._unknown_since: float | None = None
        self.fetch_ms, self.min_bytes = settings.short_wait_ms, 1

    @property
    def waited(self) -> float:
        return time.monotonic() - self._began

    def begin_request(self) -> float:
        """Return the timeout for the next response in seconds."""
        self._requested = time.monotonic()
        remaining = max(self._deadline - self._requested, _MIN_TIMEOUT)
        return min(self._settings.socket_timeout, remaining) + self.fetch_ms / 1000

    def after_failure(self, error: OSError | EOFError | RetriableError) -> None:
        """Wait before a retry, after a connection failure or a retriable error code.

        Raises:
            TopicNotFoundError: the topic was deleted.
            FetchError: nothing arrived for the stall timeout.
        """
        now, is_unknown = time.monotonic(), isinstance(error, UnknownTopicError)
        self._unknown_since = (self._unknown_since or now) if is_unknown else None
        if self._unknown_since is not None and now > self._unknown_since + _MAX_UNKNOWN:
            raise deleted_topic_error(self._split, self._offset)
        self._check_deadline(str(error))
        self._failures += 1
        backoff = self._settings.retry if isinstance(error, RetriableError) else self._settings.reconnect
        _LOG.debug("%s: retrying: %s", self._split.describe_offset(self._offset), error)
        time.sleep(min(backoff.seconds(self._failures), max(self._deadline - time.monotonic(), 0)))

    def after_no_records(self, result: FetchResult) -> None:
        """Decide how long the next response waits, after one without records.

        Raises:
            FetchError: nothing arrived for the stall timeout.
        """
        settings, self._failures = self._settings, 0
        if result.throttle_ms:  # the connection delays the next request
            self._deadline += result.throttle_ms / 1000
            return
        end = result.high_watermark
        if settings.committed and result.last_stable_offset >= 0:
            end = result.last_stable_offset
        self._pause()
        if self._offset >= end and self._split.end_may_not_exist:
            self._deadline = time.monotonic() + settings.stall_timeout
            self.fetch_ms, self.min_bytes = settings.max_wait_ms, settings.min_bytes
            return
        self._check_deadline(f"the broker returned no records, and {end} as the end offset")
        remaining_ms = int(max(self._deadline - time.monotonic(), 0) * 1000) + 1
        self.fetch_ms = min(max(2 * self.fetch_ms, 1), settings.longest_wait_ms, remaining_ms)

    def _pause(self) -> None:
        """Wait for a moment if the broker did not: it may respond at once, whatever the request says."""
        pause = min(self.fetch_ms / 1000, self._settings.retry.first) - (time.monotonic() - self._requested)
        if pause > 0:
            time.sleep(pause)

    def _check_deadline(self, cause: str) -> None:
        if time.monotonic() > self._deadline:
            raise stalled_error(self._split, self._offset, self._settings.stall_timeout, cause)


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
