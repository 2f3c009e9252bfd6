"""What the cluster knows: topics, partitions, offsets. Asked on the driver, once a plan."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Final

from confluent_kafka.admin import OffsetSpec, TopicMetadata

from kafka_sql.errors import BrokerError, TopicNotFoundError
from kafka_sql.kafka.admin import groups
from kafka_sql.kafka.admin.client import Admin
from kafka_sql.kafka.admin.offsets import EARLIEST, LATEST, Question, ask_newest, at_time, newest
from kafka_sql.kafka.admin.reloading_admin import Renewal
from kafka_sql.kafka.admin.topic_not_found import absence
from kafka_sql.kafka.librdkafka.client import patience_at_work
from kafka_sql.kafka.types import Offsets, TopicPartition

_NEW_TOPIC: Final = 0.3  # seconds for brokers to hear of a topic
_LOOK: Final = 0.03


class Cluster:
    """Questions to one Kafka cluster."""

    def __init__(self, config: Mapping[str, str]) -> None:
        """Make the client; nothing is asked yet.

        Args:
            config: librdkafka's configuration of a table, with references to secrets; they are resolved here.

        Raises:
            SecretReferenceError: a reference in it names nothing.
            KeyStoreError: a store cannot be read.
        """
        self._election = patience_at_work(config)
        self._read_committed = config.get("isolation.level") == "read_committed"
        self._renewal = Renewal(config)

    def admin(self) -> Admin:
        """The client for other questions, with the login as it is now."""
        return self._renewal.admin()

    def topics(self) -> Mapping[str, TopicMetadata]:
        """All topics by name.

        Raises:
            BrokerUnreachableError: no answer in time.
            AuthenticationError: a password, a token or a certificate is refused.
        """
        while True:
            admin = self.admin()
            found = admin.topics(partial(self._has_changed, admin))
            if found is not None:
                return found

    def partitions(
        self, topics: tuple[str, ...], existing: Mapping[str, TopicMetadata] | None = None
    ) -> list[TopicPartition]:
        """All partitions of ``topics``, sorted.

        Args:
            existing: what ``topics`` answered, where it was asked already.

        Raises:
            TopicNotFoundError: names the missing topic and the nearest that exists.
            AuthorizationError: the user may not see a topic.
            BrokerUnreachableError: no answer in time.
        """
        known = self._listed(topics) if existing is None else existing
        for topic in topics:
            if topic not in known:
                raise absence(self.admin(), topic, known)
            error = known[topic].error
            if error is not None:
                raise BrokerError(f"Topic '{topic}' cannot be read on {self.admin().servers}: {error.str()}.")
        return sorted((t, p) for t in topics for p in known[t].partitions)

    def _listed(self, topics: tuple[str, ...]) -> Mapping[str, TopicMetadata]:
        """All topics; where some of these are missing, a moment later: not all brokers know of a new one at once."""
        deadline = time.monotonic() + _NEW_TOPIC
        while True:
            known = self.topics()
            if known.keys() >= set(topics) or time.monotonic() > deadline:
                return known
            time.sleep(_LOOK)  # nobody tells when a broker has heard of it

    def earliest(self, positions: Collection[TopicPartition]) -> Offsets:
        """The first offset that each partition still holds."""
        return self._offsets(dict.fromkeys(positions, EARLIEST), self._read_committed)

    def latest(self, positions: Collection[TopicPartition]) -> Offsets:
        """The offset after the last record: the last stable offset under ``read_committed``, else the high
        watermark.
        """
        return self._offsets(dict.fromkeys(positions, LATEST), self._read_committed)

    def latest_of_existing(self, positions: Collection[TopicPartition]) -> Offsets:
        """The same; a partition that does not exist (any more, or not yet at its leader) is absent."""
        found: Offsets = {}
        for position, answer in self._answers(dict.fromkeys(positions, LATEST), self._read_committed).items():
            with contextlib.suppress(TopicNotFoundError):
                found[position] = answer()
        return found

    def high_watermarks(self, positions: Collection[TopicPartition]) -> Offsets:
        """The offset after the last record, whether its transaction is open or not."""
        return self._offsets(dict.fromkeys(positions, LATEST), False)

    def newest(self, positions: Collection[TopicPartition]) -> Callable[[], int | None]:
        """Ask for the time of the newest record in these partitions; does not wait.

        Returns:
            gives it, milliseconds since 1970-01-01 UTC; None where no partition has told one in time.
        """
        admin = self.admin()
        answers = ask_newest(admin, positions)
        self._renewal.keep(admin, answers)
        return partial(newest, answers)

    def at_times(self, times: Mapping[TopicPartition, int]) -> Offsets:
        """The first offset whose record is not older than the time; a partition without one is absent.

        Args:
            times: milliseconds since 1970-01-01 UTC.
        """
        asked = {p: at_time(millis) for p, millis in times.items()}
        return {p: offset for p, offset in self._offsets(asked, self._read_committed).items() if offset >= 0}

    def committed(self, group: str | None, positions: Collection[TopicPartition]) -> Offsets:
        """The offsets that ``group`` has committed; a partition without one is absent."""
        if group is None or not positions:
            return {}
        return groups.committed(self.admin(), group, positions)

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> Future[None]:
        """Commit offsets for ``group`` without joining it; does not wait.

        Returns:
            done when the coordinator has answered; fails with BrokerError.
        """
        admin = self.admin()
        answer = groups.commit(admin, group, offsets)
        self._renewal.keep(admin, (answer,))
        return answer

    def _has_changed(self, admin: Admin) -> bool:
        return self.admin() is not admin

    def _offsets(self, asked: Mapping[TopicPartition, OffsetSpec], stable: bool) -> Offsets:
        return {position: answer() for position, answer in self._answers(asked, stable).items()}

    def _answers(
        self, asked: Mapping[TopicPartition, OffsetSpec], stable: bool
    ) -> Mapping[TopicPartition, Callable[[], int]]:
        if not asked:
            return {}
        return Question(self.admin, self.topics, asked, stable).answers(self._election)
