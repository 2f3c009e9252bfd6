"""A stream's offsets committed to Kafka, for who watches the group: nothing here is read again.

A commit is sent without joining the group and without waiting. One that fails is counted and logged, and that is all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, TimeoutError
from typing import Any

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.types import TopicPartition

_LOG = logging.getLogger("kafka_sql.source")
Offsets = Mapping[TopicPartition, int]


class OffsetCommitter:
    """The commits of one stream.

    Attributes:
        succeeded: how many.
        failed: how many.
        committed: the last offsets that Kafka has confirmed.
    """

    def __init__(self, send: Callable[[Offsets], Future[None]]) -> None:
        """
        Args:
            send: asks Kafka for a commit; the future fails with what went wrong.
        """
        self.succeeded, self.failed = 0, 0
        self.committed: Offsets = {}
        self._send = send
        self._sent: Offsets = {}
        self._answer: Future[None] | None = None

    def commit(self, offsets: Offsets) -> None:
        """Commit what Spark has committed, unless it is committed already. While an answer is outstanding nothing is
        sent: the next call has newer offsets.
        """
        if self._answer is not None:
            if not self._answer.done():
                return
            self._take(self._answer, 0)
        if offsets and offsets != self._sent:
            self._sent = dict(offsets)
            try:
                self._answer = self._send(self._sent)
            except BrokerError as e:
                self._count(e)

    def finish(self, seconds: float) -> None:
        """Wait for an outstanding answer: the query is about to end."""
        if self._answer is not None:
            self._take(self._answer, seconds)

    def _take(self, answer: Future[None], seconds: float) -> None:
        try:
            answer.result(seconds)
        except (BrokerError, TimeoutError) as e:
            self._count(e)
        else:
            self.succeeded += 1
            self.committed = self._sent
        self._answer = None

    def _count(self, error: Any) -> None:
        self.failed += 1
        _LOG.warning("offsets could not be committed to Kafka; the query goes on by its checkpoint: %s", error)
