"""Commit a stream's offsets to Kafka for monitoring. They are not read again: recovery uses Spark's checkpoint.

Commits are sent asynchronously, without joining the consumer group. A failed commit is counted and logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError

from kafka_sql.errors import BrokerError
from kafka_sql.source.stream.stream_offset import Offsets

_LOG = logging.getLogger("kafka_sql.source")


class OffsetCommitter:
    """Commits the offsets of one stream."""

    def __init__(self, send: Callable[[Offsets], Future[None]]) -> None:
        """
        Args:
            send: starts a commit; the future raises if it fails.
        """
        self.succeeded, self.failed = 0, 0
        self.committed: Offsets = {}
        self._send = send
        self._sent: Offsets = {}
        self._pending: Future[None] | None = None

    def commit(self, offsets: Offsets) -> None:
        """Commit the offsets unless the last commit, successful or not, had the same ones.

        Does nothing while a commit is pending: the next call has newer offsets.
        """
        if self._pending is not None:
            if not self._pending.done():
                return
            self._complete(self._pending, 0)
        if offsets and offsets != self._sent:
            self._sent = dict(offsets)
            try:
                self._pending = self._send(self._sent)
            except BrokerError as e:
                self._record_failure(e)

    def finish(self, timeout: float) -> None:
        """Wait for a pending commit, at most ``timeout`` seconds."""
        if self._pending is not None:
            self._complete(self._pending, timeout)

    def _complete(self, pending: Future[None], timeout: float) -> None:
        try:
            pending.result(timeout)
        except (BrokerError, TimeoutError) as e:
            self._record_failure(e)
        else:
            self.succeeded += 1
            self.committed = self._sent
        self._pending = None

    def _record_failure(self, error: Exception) -> None:
        self.failed += 1
        _LOG.warning("could not commit offsets to Kafka; the query continues from its checkpoint: %s", error)
