"""Treat the clusters of a 'dynamic-kafka' table as one cluster, whose topics are named ``cluster/topic``.

Kafka's topic names have no slash. So planners, limits and checkpoints work as with the topics of a single cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from threading import Lock
from typing import TypeVar

from kafka_sql.definition import Definition
from kafka_sql.errors import KafkaSqlError, MetadataServiceError
from kafka_sql.kafka.admin.cluster import Cluster, OffsetSpecs, Topics, cached_cluster
from kafka_sql.kafka.admin.descriptions import TopicState
from kafka_sql.kafka.split import SourceCluster, Split
from kafka_sql.kafka.topic_partition import Offsets, TopicPartition
from kafka_sql.options import dynamic
from kafka_sql.source.client_config import ENUMERATOR, client_config
from kafka_sql.source.dynamic.metadata_service import ClusterMetadata, StreamMetadata, look_up_streams
from kafka_sql.source.table_log import warn

T = TypeVar("T")
R = TypeVar("R")
OpenCluster = Callable[[Mapping[str, str]], Cluster]


def cluster_of(topic: str) -> str:
    """Return the cluster in ``cluster/topic``."""
    return topic.rpartition("/")[0]


class Clusters(Cluster):
    """The clusters that a table's metadata service returns. ``Cluster`` describes the methods that this overrides."""

    def __init__(
        self, definition: Definition, open_cluster: OpenCluster, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Set up the clusters. Calls the metadata service only with the first ``refresh``."""
        self._definition, self._open, self._clock = definition, open_cluster, clock
        self._read_committed = True  # where each cluster's own properties say so
        self._interval = definition.options[dynamic.METADATA_INTERVAL] / 1000
        self._clusters: dict[str, Cluster] = {}
        self._metadata: StreamMetadata | None = None
        self._next_refresh = 0.0
        self._failures = 0

    def refresh(self, force: bool = False) -> bool:
        """Call the metadata service if its interval has passed, and return whether clusters or topics have changed.

        Raises:
            KafkaSqlError: the service has failed more often than the table's options allow; see ``look_up_streams``.
        """
        now, old = self._clock(), self._metadata
        if old is not None and not force and (self._interval <= 0 or now < self._next_refresh):
            return False
        self._next_refresh = now + self._interval
        try:
            new = look_up_streams(self._definition, self._list_topics)
            clusters = {c: self._client(c, metadata) for c, metadata in new.clusters.items()}
        except KafkaSqlError as e:
            self._failures += 1
            if old is None or self._failures > self._definition.options[dynamic.METADATA_FAILURES]:
                raise e.with_prefix("Fetching subscribed Kafka streams failed. ") from e.__cause__
            warn(self._definition.name, "%s", e)
            return False
        self._failures, self._metadata, self._clusters = 0, new, clusters
        old_topics = set() if old is None else _qualified_topics(old)
        new_topics = _qualified_topics(new)
        for topics, event in ((new_topics - old_topics, "are new"), (old_topics - new_topics, "are no longer read")):
            if topics and old is not None:
                names = ", ".join(sorted(topics))
                warn(self._definition.name, "topics %s of the metadata service %s", names, event)
        return old is None or old_topics != new_topics

    def configs(self) -> Mapping[str, Mapping[str, str]]:
        """Return the configuration of the clients of each cluster, which may contain secrets, by its id."""
        return {cluster_id: metadata.config for cluster_id, metadata in self._known().clusters.items()}

    def subscribed_topics(self) -> set[str]:
        """Return the topics that the table reads, as ``cluster/topic``."""
        return _qualified_topics(self._known())

    def check_streams(self) -> None:
        """Check that the metadata service knows all streams, as a query that starts needs.

        Raises:
            MetadataServiceError: names a stream of 'stream-ids' that is missing.
        """
        missing = self._known().missing
        if missing:
            raise MetadataServiceError(
                f"Table '{self._definition.name}': metadata service "
                f"'{self._definition.options[dynamic.METADATA_SERVICE]}' does not know stream '{missing[0]}' of option "
                f"'{dynamic.STREAM_IDS.key}'. Correct the option, or add the stream to the service.",
                table=self._definition.name,
            )

    def topics(self) -> Topics:
        """Return the existing topics among those that the table reads."""
        subscribed, result = self.subscribed_topics(), {}
        for cluster_id, cluster in self._clusters.items():
            with _naming(cluster_id):
                topics = {f"{cluster_id}/{name}": topic for name, topic in cluster.topics().items()}
            result.update({name: topic for name, topic in topics.items() if name in subscribed})
        return result

    def partitions(self, names: tuple[str, ...], topics: Topics | None = None) -> list[TopicPartition]:
        result: list[TopicPartition] = []
        for cluster_id, cluster in self._clusters.items():
            own = tuple(_without(cluster_id, name) for name in names if cluster_of(name) == cluster_id)
            existing = topics and {_without(cluster_id, t): topics[t] for t in topics if cluster_of(t) == cluster_id}
            with _naming(cluster_id):
                result += [(f"{cluster_id}/{topic}", p) for topic, p in cluster.partitions(own, existing)]
        return sorted(result)

    def request_offsets(self, specs: OffsetSpecs, read_committed: bool) -> Mapping[TopicPartition, Callable[[], int]]:
        """Request the offsets of all clusters at the same time."""
        responses = self._ask(
            specs, lambda cluster, own: cluster.request_offsets(own, read_committed and cluster.reads_committed)
        )
        return {(f"{c}/{t}", p): _named(c, wait) for c, own in responses.items() for (t, p), wait in own.items()}

    def newest_timestamp(self, partitions: Collection[TopicPartition]) -> Callable[[], int | None]:
        requests = self._ask(dict.fromkeys(partitions), lambda cluster, own: cluster.newest_timestamp(list(own)))
        return lambda: max((t for request in requests.values() if (t := request()) is not None), default=None)

    def committed(self, group: str | None, partitions: Collection[TopicPartition]) -> Offsets:
        return self._collect(dict.fromkeys(partitions), lambda cluster, own: cluster.committed(group, list(own)))

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> Future[None]:
        return _all_done(self._ask(offsets, lambda cluster, own: cluster.commit(group, own)).values())

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        return self._describe(topics, lambda cluster, own: cluster.topic_ids(own))

    def describe_topics(self, topics: Collection[str]) -> dict[str, TopicState]:
        return self._describe(topics, lambda cluster, own: cluster.describe_topics(own))

    def bytes_per_offset(self, starts: Mapping[TopicPartition, int]) -> dict[TopicPartition, float]:
        return self._collect(starts, lambda cluster, own: cluster.bytes_per_offset(own))

    def locate(self, split: Split) -> Split:
        """Return a split of ``cluster/topic`` with its cluster and the topic's own name."""
        cluster_id = cluster_of(split.topic)
        cluster = SourceCluster(cluster_id, self._known().clusters[cluster_id].config)
        return replace(split, topic=_without(cluster_id, split.topic), cluster=cluster)

    def _known(self) -> StreamMetadata:
        if self._metadata is None:
            self.refresh()
        assert self._metadata is not None
        return self._metadata

    def _list_topics(self, config: Mapping[str, str]) -> Collection[str]:
        """Return the topics of a table's only cluster."""
        clusters = list(self._clusters.values()) or [self._open(config)]
        return clusters[0].topics()

    def _client(self, cluster_id: str, metadata: ClusterMetadata) -> Cluster:
        """Return the client of a cluster, a new one if its properties have changed."""
        known = self._metadata.clusters.get(cluster_id) if self._metadata is not None else None
        if known is not None and known.config == metadata.config:
            return self._clusters[cluster_id]
        source = SourceCluster(cluster_id, metadata.config)
        with _naming(cluster_id):
            return self._open(client_config(self._definition, ENUMERATOR, source))

    def _ask(
        self, items: Mapping[TopicPartition, T], request: Callable[[Cluster, dict[TopicPartition, T]], R]
    ) -> dict[str, R]:
        """Send a request to each cluster that still exists, for its partitions with the topics' own names."""
        self._known()
        groups: dict[str, dict[TopicPartition, T]] = {}
        for (name, partition), item in items.items():
            cluster_id = cluster_of(name)
            groups.setdefault(cluster_id, {})[_without(cluster_id, name), partition] = item
        responses: dict[str, R] = {}
        for cluster_id, own in groups.items():
            if cluster_id in self._clusters:
                with _naming(cluster_id):
                    responses[cluster_id] = request(self._clusters[cluster_id], own)
        return responses

    def _collect(
        self,
        items: Mapping[TopicPartition, T],
        request: Callable[[Cluster, dict[TopicPartition, T]], Mapping[TopicPartition, R]],
    ) -> dict[TopicPartition, R]:
        responses = self._ask(items, request)
        return {(f"{c}/{t}", p): value for c, own in responses.items() for (t, p), value in own.items()}

    def _describe(
        self, topics: Collection[str], request: Callable[[Cluster, list[str]], Mapping[str, R]]
    ) -> dict[str, R]:
        partitions = {(topic, 0): None for topic in topics}
        responses = self._ask(partitions, lambda cluster, own: request(cluster, [topic for topic, _ in own]))
        return {f"{c}/{topic}": value for c, own in responses.items() for topic, value in own.items()}


@contextmanager
def table_cluster(definition: Definition) -> Iterator[Cluster]:
    """Lease the client of a table's cluster, or of its clusters, for a ``with`` block. See ``cached_cluster``.

    Raises:
        KafkaSqlError: the clusters of a 'dynamic-kafka' table cannot be looked up.
    """
    if not definition.is_dynamic:
        with cached_cluster(definition.client_config) as cluster:
            yield cluster
        return
    with ExitStack() as stack:
        clusters = Clusters(definition, lambda config: stack.enter_context(cached_cluster(config)))
        clusters.refresh()
        yield clusters


def open_cluster(definition: Definition, open_one: OpenCluster) -> Cluster:
    """Return a client of a table's cluster, or of its clusters, for the time of a stream."""
    if definition.is_dynamic:
        return Clusters(definition, open_one)
    return open_one(client_config(definition, ENUMERATOR))


def _qualified_topics(metadata: StreamMetadata) -> set[str]:
    return {f"{cluster_id}/{topic}" for cluster_id, cluster in metadata.clusters.items() for topic in cluster.topics}


def _without(cluster_id: str, name: str) -> str:
    return name.removeprefix(f"{cluster_id}/")


@contextmanager
def _naming(cluster_id: str) -> Iterator[None]:
    """Name the cluster in errors."""
    try:
        yield
    except KafkaSqlError as e:
        raise e.with_prefix(f"Cluster '{cluster_id}': ") from e.__cause__


def _named(cluster_id: str, result: Callable[[], int]) -> Callable[[], int]:
    def named() -> int:
        with _naming(cluster_id):
            return result()

    return named


def _all_done(futures: Collection[Future[None]]) -> Future[None]:
    """Return a future that is done when all are, and fails with the first error."""
    result: Future[None] = Future()
    lock, pending = Lock(), [len(futures)]
    errors: list[BaseException] = []

    def on_done(future: Future[None]) -> None:
        with lock:
            pending[0] -= 1
            errors.extend(filter(None, [future.exception()]))
            is_last = pending[0] == 0
        if is_last and errors:
            result.set_exception(errors[0])
        elif is_last:
            result.set_result(None)

    for future in futures:
        future.add_done_callback(on_done)
    if not futures:
        result.set_result(None)
    return result
