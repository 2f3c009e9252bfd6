"""Wait for records that do not arrive at once: how long, and when to give up."""

from __future__ import annotations

import logging
import time
from typing import Final

from kafka_sql.kafka.direct.reads.fetch_settings import FetchSettings
from kafka_sql.kafka.fetch_errors import deleted_topic_error, stalled_error
from kafka_sql.kafka.protocol.errors import RetriableError, UnknownTopicError
from kafka_sql.kafka.protocol.fetch import FetchResult
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
