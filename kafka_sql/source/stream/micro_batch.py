"""Plan a stream's micro-batches on the driver: the start, the end of the next batch, and offset commits to Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kafka_sql.definition import Definition
from kafka_sql.errors import BrokerUnreachableError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.split import Split
from kafka_sql.kafka.topic_partition import Offsets, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.source.dynamic.clusters import Clusters, open_cluster
from kafka_sql.source.enumerator.partitions import Discovery
from kafka_sql.source.enumerator.splits import make_splits
from kafka_sql.source.enumerator.starting_offsets import (
    clamp_to_log_end,
    effective_startup_mode,
    resolve_new_starts,
    resolve_start_offsets,
)
from kafka_sql.source.enumerator.stopping_offsets import resolve_stop_offsets
from kafka_sql.source.stream.event_time_order import EventTimeOrder
from kafka_sql.source.stream.offset_commits import OffsetCommitter
from kafka_sql.source.stream.rate_limits import allocate, compute_backlogs, limits_from_options, offsets_for_bytes
from kafka_sql.source.stream.resume import (
    check_checkpoint,
    find_recreated_topics,
    keep_subscribed,
    keep_subscribed_batch,
    resolve_batch_starts,
    resolve_resume,
)
from kafka_sql.source.stream.stream_offset import StreamOffset, nest_by_topic, to_json

_DEFAULT_BYTES_PER_OFFSET: Final = 1000.0  # if no partition has been measured
_FINAL_COMMIT_TIMEOUT: Final = 10.0  # seconds


class MicroBatchStream:
    """One query's streaming read of a table, on the driver. Methods mirror those of Spark's MicroBatchStream."""

    def __init__(self, definition: Definition, order: EventTimeOrder | None = None) -> None:
        """Set up the stream. Does not connect to the cluster.

        Args:
            order: what orders limited batches by event time; None to read partitions in proportion to their backlogs.
        """
        self.limits = limits_from_options(definition.options)
        self._definition, self._order = definition, order
        self._cluster: Cluster | None = None
        self._discovery = Discovery(definition)
        self._is_bounded = definition.options[opt.BOUNDED_MODE] != opt.UNBOUNDED
        self._initial_offset: StreamOffset | None = None
        self._new_stops: Mapping[TopicPartition, int] = {}  # of a restarted bounded stream
        self._ends: Mapping[TopicPartition, int] = {}
        self._partitions: list[TopicPartition] | None = None  # as last discovered
        self._topic_ids: Mapping[str, str] = {}
        self._available_now_ends: Mapping[TopicPartition, int] | None = None  # of Trigger.AvailableNow
        self._bytes_per_offset: dict[TopicPartition, float] = {}
        self._await_earliest: Callable[[], Offsets] | None = None  # of the batch that was planned last
        self._await_max_timestamp: Callable[[], int | None] | None = None  # waits for the response to a request
        self._max_timestamp: int | None = None  # of the newest record of the last batch
        self._last_batch_time = -float("inf")
        group = definition.options.get(opt.GROUP_ID)
        commits_offsets = definition.options.get(opt.COMMIT_OFFSETS)
        self._committer = (
            OffsetCommitter(lambda offsets: self._client().commit(group, offsets))
            if group is not None and commits_offsets is not False
            else None
        )

    def initial_offset(self) -> StreamOffset:
        """Return the startup position, and the stop offsets of a bounded stream.

        Spark calls this repeatedly until the first batch is planned. The result does not change.
        """
        if self._initial_offset is None:
            partitions, cluster = self._discover_partitions(), self._client()
            if isinstance(cluster, Clusters):
                cluster.check_streams()
            stops = resolve_stop_offsets(self._definition, self._client(), partitions)
            starts = resolve_start_offsets(self._definition, self._client(), partitions)
            starts = clamp_to_log_end(self._definition, self._client(), starts, stops)
            self._initial_offset = StreamOffset({}, starts, stops or {}, self._topic_ids)
        return self._initial_offset

    def prepare_available_now(self) -> None:
        """Fix the current end offsets as the end of the stream."""
        self._available_now_ends = self._fetch_ends()

    def latest_offset_unlimited(self) -> StreamOffset:
        """Return the current end of every partition."""
        if effective_startup_mode(self._definition) == opt.LATEST:
            self.initial_offset()  # PySpark 4.1 calls it after this method; the start must not be after this end
        if not self._is_bounded:
            latest = self._fetch_ends()
            return StreamOffset(latest, ids=self._topic_ids)
        start = self.initial_offset()  # PySpark 4.1 does not pass the checkpoint's offset
        return StreamOffset(self._clamp_to_stops(start, self._fetch_ends()), {}, start.stops, self._topic_ids)

    def latest_offset(self, start: StreamOffset, is_limited: bool) -> StreamOffset:
        """Return where the next batch ends; ``start`` if there is nothing to read.

        Args:
            is_limited: whether the limits of the options apply.
        """
        self.commit(start)  # Spark plans a batch from here after it has committed the previous one
        original_start, start = start, self._with_new_stops(start)
        latest = self._fetch_ends() if self._available_now_ends is None else self._available_now_ends
        cluster, known = self._client(), start.positions
        subscribed = keep_subscribed(self._definition, cluster, start)
        has_left_topics, start = subscribed != start, subscribed
        recreated = find_recreated_topics(start.ids, self._topic_ids)
        ends, restarts = resolve_resume(self._definition, cluster, dict(start.offsets), dict(latest), recreated)
        ends = self._clamp_to_stops(start, ends)
        starts = {**start.positions, **restarts}
        new_starts = resolve_new_starts(self._definition, cluster, known, [p for p in ends if p not in starts])
        starts |= new_starts
        ends |= {p: offset for p, offset in new_starts.items() if offset > ends[p]}  # written since the ends were read
        if self._order is not None:
            self._order.forget(restarts)
        if is_limited:
            ends = self._apply_limits(starts, ends)
        if ends == start.offsets and not restarts and not has_left_topics:
            if self._available_now_ends is not None:
                self.stop()
            return original_start
        self._last_batch_time = time.monotonic()
        read_to_end: list[TopicPartition] = []  # partitions whose newest record is in the batch
        if self._available_now_ends is None:
            read_to_end = [p for p in ends if starts[p] < ends[p] == latest.get(p)]
        self._await_max_timestamp = cluster.newest_timestamp(read_to_end)
        # sent now, because Spark has work to do before it asks for the splits; tasks check the log's start again
        self._await_earliest = cluster.request_earliest([p for p in ends if starts[p] < ends[p]])
        new_starts = {p: starts[p] for p in ends if p not in start.offsets or p in restarts}
        return StreamOffset(ends, new_starts, start.stops, self._topic_ids)

    def plan_splits(self, start: StreamOffset, end: StreamOffset) -> Sequence[Split]:
        """Return the splits of one batch.

        Raises:
            OffsetError: the offsets belong to other topics.
            DataLossError: records were removed before they were read.
        """
        if self._partitions is None:
            self._discover_partitions()  # a batch that is repeated after a restart
        start, end = keep_subscribed_batch(self._definition, self._client(), start, end)
        # topics with new starts were checked when the batch was planned
        recreated_before_end = find_recreated_topics(start.ids, end.ids) - {topic for topic, _ in end.starts}
        check_checkpoint(self._definition, dict(start.offsets), dict(end.offsets), recreated_before_end)
        recreated_since_end = find_recreated_topics(end.ids, self._topic_ids)
        check_checkpoint(self._definition, dict(end.offsets), dict(end.offsets), recreated_since_end)
        await_earliest, self._await_earliest = self._await_earliest, None
        earliest = await_earliest() if await_earliest is not None else None
        starts = resolve_batch_starts(
            self._definition, self._client(), {**start.positions, **end.starts}, dict(end.offsets), earliest
        )
        return list(map(self._client().locate, make_splits(starts, end.offsets)))

    def commit(self, offset: StreamOffset) -> None:
        if self._committer is not None:
            self._committer.commit(offset.offsets)

    def stop(self) -> None:
        """Wait a limited time for a pending commit."""
        if self._committer is not None:
            self._committer.finish(_FINAL_COMMIT_TIMEOUT)

    def report(self) -> dict[str, Any] | None:
        """Return the partitions' end offsets, the newest record's timestamp, and the state of offset commits."""
        if not self._ends:
            return None
        details: dict[str, Any] = {"table": self._definition.name}
        if self._await_max_timestamp is not None:
            self._max_timestamp, self._await_max_timestamp = self._await_max_timestamp(), None
        if self._max_timestamp is not None:
            details["maxTimestamp"] = self._max_timestamp
        if self._committer is not None and self._definition.options[opt.REGISTER_METRICS]:
            details |= {
                "commitsSucceeded": self._committer.succeeded,
                "commitsFailed": self._committer.failed,
                "committedOffsets": nest_by_topic(self._committer.committed),
            }
        return to_json(StreamOffset(self._ends), **details)

    def _clamp_to_stops(self, start: StreamOffset, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Limit the ends to the stop offsets, but not below the start unless the partition itself ends below it."""
        if not self._is_bounded:
            return dict(ends)
        positions, stops = start.positions, start.stops
        # partitions created after the stop offsets were resolved are not read
        return {p: max(min(end, stops[p]), min(end, positions.get(p, 0))) for p, end in ends.items() if p in stops}

    def _with_new_stops(self, start: StreamOffset) -> StreamOffset:
        """Return the offset with the stop offsets of this run of a bounded stream.

        A stream that is restarted after it has reached its stop offsets resolves new ones. One that was interrupted
        keeps its stop offsets.
        """
        if self._initial_offset is None and self._is_bounded:
            has_ended = all(start.positions.get(p, stop) >= stop for p, stop in start.stops.items())
            stops = start.stops
            if has_ended:
                stops = resolve_stop_offsets(self._definition, self._client(), self._discover_partitions()) or {}
            self._initial_offset = replace(start, stops=stops)
            self._new_stops = dict(stops)
        return start if not self._new_stops else replace(start, stops=self._new_stops)

    def _apply_limits(
        self, starts: Mapping[TopicPartition, int], ends: dict[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        backlogs = compute_backlogs(starts, ends)
        total = allowed = sum(backlogs.values())
        if self._should_wait(total):
            return {p: starts[p] for p in ends}
        if self.limits.max_bytes is not None and total:
            sizes = self._measure_bytes_per_offset(starts, backlogs)
            allowed = min(allowed, offsets_for_bytes(backlogs, sizes, self.limits.max_bytes))
        if self.limits.max_offsets is not None:
            allowed = min(allowed, self.limits.max_offsets)
        if allowed == total:
            return ends
        if self._order is not None:
            return {**ends, **self._order.admit(starts, ends, self.limits.max_offsets or total, self.limits.max_bytes)}
        allocated = allocate(backlogs, allowed, sum(starts.values()))
        return {p: starts[p] + allocated.get(p, 0) if p in backlogs else end for p, end in ends.items()}

    def _should_wait(self, offset_count: int) -> bool:
        min_offsets = self.limits.min_offsets
        if min_offsets is None or self._available_now_ends is not None or offset_count >= min_offsets:
            return False
        return time.monotonic() - self._last_batch_time < self.limits.max_delay

    def _measure_bytes_per_offset(
        self, starts: Mapping[TopicPartition, int], backlogs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, float]:
        """Return the average bytes per offset of each partition, measured again if the backlog may exceed the limit."""
        sizes = self._bytes_per_offset
        is_known = all(p in sizes for p in backlogs)
        max_bytes = self.limits.max_bytes or 0
        if not is_known or sum(n * sizes[p] for p, n in backlogs.items()) > max_bytes / 2:
            sizes |= self._client().bytes_per_offset({p: starts[p] for p in backlogs})
        default = max(sizes.values(), default=_DEFAULT_BYTES_PER_OFFSET)
        return {p: sizes.get(p, default) for p in backlogs}

    def _fetch_ends(self) -> Mapping[TopicPartition, int]:
        try:
            self._ends = self._client().latest_if_exists(self._discover_partitions())
        except BrokerUnreachableError:
            # as in Flink, the metadata service may have removed a cluster that was shut down
            old = self._partitions
            if self._discover_partitions(force=True) is old:
                raise
            self._ends = self._client().latest_if_exists(self._discover_partitions())
        return self._ends

    def _client(self) -> Cluster:
        if self._cluster is None:
            self._cluster = open_cluster(self._definition, Cluster)
            if self._order is not None:
                self._order.locate = self._cluster.locate
        return self._cluster

    def _discover_partitions(self, force: bool = False) -> list[TopicPartition]:
        partitions = self._discovery.partitions(self._client(), force)
        if partitions is not self._partitions:
            self._partitions = partitions
            self._topic_ids = self._client().topic_ids({topic for topic, _ in partitions})
        return partitions
