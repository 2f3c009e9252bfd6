"""Query a cluster for topics, partitions and offsets. The driver does so once per plan."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final, TypeAlias

from confluent_kafka.admin import OffsetSpec, TopicMetadata

from kafka_sql.errors import BrokerError, TopicNotFoundError
from kafka_sql.kafka.admin.client import Admin
from kafka_sql.kafka.admin.descriptions import TopicState, describe_topics, topic_ids, topic_not_found_error
from kafka_sql.kafka.admin.groups import GroupOffsets
from kafka_sql.kafka.admin.offsets import (
    EARLIEST,
    LATEST,
    OffsetRequest,
    await_newest_timestamp,
    request_newest_timestamps,
    timestamp_spec,
)
from kafka_sql.kafka.admin.record_sizes import bytes_per_offset
from kafka_sql.kafka.client_cache import CachedClient, ClientCache
from kafka_sql.kafka.split import Split
from kafka_sql.kafka.topic_partition import Offsets, TopicPartition

Topics: TypeAlias = Mapping[str, TopicMetadata]
OffsetSpecs: TypeAlias = Mapping[TopicPartition, OffsetSpec]

_NEW_TOPIC_SECONDS: Final = 0.3  # for all brokers to learn of a new topic
_POLL_SECONDS: Final = 0.03  # brokers do not notify clients of new topics


class Cluster(CachedClient):
    """The admin operations on one Kafka cluster.

    Raises:
        BrokerUnreachableError: by every request, if there is no response in time.
        AuthenticationError: by every request, if a password, a token or a certificate is rejected.
        BrokerError: by every request, for other errors.
    """

    def __init__(self, config: Mapping[str, str]) -> None:
        """Create the client. This sends no request.

        Raises:
            KafkaSqlError: as ``resolve_config``.
        """
        self._config = config
        self._read_committed = config.get("isolation.level") == "read_committed"
        self._admin, self._groups = Admin(config), GroupOffsets(config)
        self._pending: list[tuple[Admin, Collection[Future[Any]]]] = []

    @property
    def reads_committed(self) -> bool:
        """Whether the latest offset is the last stable offset."""
        return self._read_committed

    def admin(self) -> Admin:
        """Return the client for other requests, with the current credentials.

        Hold it until its responses have arrived: a client that nothing references is closed.
        """
        # not in a callback: librdkafka cannot be destroyed from its callback threads
        self._pending = [(admin, futures) for admin, futures in self._pending if not all(f.done() for f in futures)]
        if self._admin.credentials_changed():
            self._admin = Admin(self._config)
        return self._admin

    def topics(self) -> Topics:
        """Return all topics by name.

        Raises:
            BrokerUnreachableError: no response in time.
            AuthenticationError: a password, a token or a certificate is rejected.
        """
        while True:
            topics = self.admin().list_topics()
            if topics is not None:
                return topics

    def await_topics(self, names: Collection[str], seconds: float, *, with_leaders: bool = False) -> Topics:
        """Return all topics by name as soon as ``names`` are among them, or after the timeout.

        Not all brokers learn of a new topic at the same time.

        Raises:
            BrokerError: as ``topics``.
        """
        deadline = time.monotonic() + seconds
        while True:
            topics = self.topics()
            if all(name in topics and not (with_leaders and _is_leaderless(topics[name])) for name in names):
                return topics
            if time.monotonic() > deadline:
                return topics
            time.sleep(_POLL_SECONDS)

    def partitions(self, names: tuple[str, ...], topics: Topics | None = None) -> list[TopicPartition]:
        """Return all partitions of the topics ``names``, sorted.

        Raises:
            TopicNotFoundError: names the missing topic and the most similar existing one.
            AuthorizationError: the user may not see a topic.
            BrokerUnreachableError: no response in time.
        """
        if topics is None:
            topics = self.await_topics(names, _NEW_TOPIC_SECONDS)
        for name in names:
            if name not in topics:
                raise topic_not_found_error(self.admin(), name, topics)
            error = topics[name].error
            if error is not None:
                servers = self.admin().servers
                raise BrokerError(
                    f"Topic '{name}' cannot be read on {servers}: {error.str()}.", topic=name, servers=servers
                )
        return sorted((name, p) for name in names for p in topics[name].partitions)

    def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Return the first offset that each partition still holds."""
        return self._offsets(dict.fromkeys(partitions, EARLIEST), self._read_committed)

    def request_earliest(self, partitions: Collection[TopicPartition]) -> Callable[[], Offsets]:
        """Request what ``earliest`` returns, and return a function that waits for it."""
        results = self.request_offsets(dict.fromkeys(partitions, EARLIEST), self._read_committed)
        return lambda: {partition: result() for partition, result in results.items()}

    def latest(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Return the offset after the last record: under ``read_committed`` the last stable offset, else the high
        watermark.
        """
        return self._offsets(dict.fromkeys(partitions, LATEST), self._read_committed)

    def latest_if_exists(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Like ``latest``; a partition that was deleted, or that its leader does not know yet, is absent."""
        offsets: Offsets = {}
        for partition, result in self.request_offsets(dict.fromkeys(partitions, LATEST), self._read_committed).items():
            with contextlib.suppress(TopicNotFoundError):
                offsets[partition] = result()
        return offsets

    def high_watermarks(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Return the offset after the last record, including records of open transactions."""
        return self._offsets(dict.fromkeys(partitions, LATEST), False)

    def newest_timestamp(self, partitions: Collection[TopicPartition]) -> Callable[[], int | None]:
        """Request the newest record's timestamp in these partitions, without waiting.

        Returns:
            a function that returns it, in milliseconds since 1970-01-01 UTC; None if no partition has responded in
            time.
        """
        admin = self.admin()
        futures = request_newest_timestamps(admin, partitions)
        self._pending.append((admin, futures))
        return partial(await_newest_timestamp, futures)

    def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> Offsets:
        """Return the first offset whose record is at least as new as the time; a partition without one is absent.

        Args:
            times: milliseconds since 1970-01-01 UTC.
        """
        specs = {partition: timestamp_spec(millis) for partition, millis in times.items()}
        offsets = self._offsets(specs, self._read_committed)
        return {partition: offset for partition, offset in offsets.items() if offset >= 0}

    def committed(self, group: str | None, partitions: Collection[TopicPartition]) -> Offsets:
        """Return the committed offsets of ``group``; a partition without one is absent."""
        if group is None or not partitions:
            return {}
        return self._groups.committed(group, partitions)

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> Future[None]:
        """Commit offsets for ``group`` without joining it and without waiting.

        Returns:
            done when the coordinator has responded; fails with BrokerError.
        """
        return self._groups.commit(group, offsets)

    def may_read_group(self, group: str) -> bool | None:
        """Return whether the user may commit and read offsets. See ``GroupOffsets.may_read``."""
        return self._groups.may_read(group)

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        """Return the ids of topics. See ``descriptions.topic_ids``."""
        return topic_ids(self.admin(), topics)

    def describe_topics(self, topics: Collection[str]) -> dict[str, TopicState]:
        """Return the state of existing topics. See ``descriptions.describe_topics``."""
        return describe_topics(self.admin(), sorted(topics))

    def bytes_per_offset(self, starts: Mapping[TopicPartition, int]) -> dict[TopicPartition, float]:
        """Return the average bytes of key and value per offset. See ``record_sizes.bytes_per_offset``."""
        return bytes_per_offset(self._config, starts)

    def locate(self, split: Split) -> Split:
        """Return a split with what its reader must know about the cluster: nothing if the table has only one."""
        return split

    def request_offsets(self, specs: OffsetSpecs, read_committed: bool) -> Mapping[TopicPartition, Callable[[], int]]:
        """Request offsets, and return for each partition a function that waits for its offset."""
        if not specs:
            return {}
        return OffsetRequest(self.admin, self.topics, specs, read_committed).results()

    def _offsets(self, specs: OffsetSpecs, read_committed: bool) -> Offsets:
        return {partition: result() for partition, result in self.request_offsets(specs, read_committed).items()}


def _is_leaderless(topic: TopicMetadata) -> bool:
    return any(p.leader < 0 for p in topic.partitions.values())


def cached_cluster(config: Mapping[str, str]) -> AbstractContextManager[Cluster]:
    """Lease a cluster client for a ``with`` block. All its requests must be complete at the end of the block.

    The client is kept for the planner's next table or statement: a new one has to connect first, which usually
    takes 50 ms.

    Raises:
        KafkaSqlError: as ``resolve_config``.
    """
    return _CACHE.lease(config)


_CACHE: Final = ClientCache(lambda config, _: Cluster(config))
