"""A stream between its batches: where it begins, what the next batch takes, what is committed to Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_sql.definition import Definition
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.admin.descriptions import topic_ids
from kafka_sql.kafka.admin.record_sizes import bytes_per_offset
from kafka_sql.kafka.types import Split, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.source.client_config import ENUMERATOR, client_config
from kafka_sql.source.enumerator.partitions import Discovery
from kafka_sql.source.enumerator.plan import make_splits
from kafka_sql.source.enumerator.starting_offsets import clamp_to_log_end, effective_startup_mode, resolve_start_offsets
from kafka_sql.source.enumerator.stopping_offsets import resolve_stop_offsets
from kafka_sql.source.stream.offset_commits import OffsetCommitter
from kafka_sql.source.stream.rate_limits import allocate, compute_backlogs, limits_from_options, offsets_for_bytes
from kafka_sql.source.stream.resume import check_checkpoint, recreated_topics, resolve_batch_starts, resolve_resume
from kafka_sql.source.stream.stream_offset import StreamOffset, nest_by_topic, to_json

_GUESS = 1000.0  # bytes of a record that nothing is known of
_LAST_COMMIT = 10.0  # seconds to wait for it when a query ends


class MicroBatchStream:
    """One query's reading of a table, on the driver.

    Attributes:
        limits: what a micro-batch may take.
    """

    def __init__(self, definition: Definition) -> None:
        """Nothing is asked of the cluster yet."""
        self.limits = limits_from_options(definition.options)
        self._definition = definition
        self._cluster: Cluster | None = None
        self._discovery = Discovery(definition)
        self._is_bounded = definition.options[opt.BOUNDED_MODE] != opt.UNBOUNDED
        self._beginning: StreamOffset | None = None
        self._renewal: Mapping[TopicPartition, int] = {}  # of a bounded stream that was started again
        self._ends: Mapping[TopicPartition, int] = {}
        self._found: list[TopicPartition] | None = None  # the partitions of the last look
        self._ids: Mapping[str, str] = {}  # of their topics
        self._fixed: Mapping[TopicPartition, int] | None = None  # Trigger.AvailableNow: the ends of the query
        self._sizes: dict[TopicPartition, float] = {}
        self._ask_newest: Callable[[], int | None] | None = None
        self._newest: int | None = None  # when the newest record of the last batch was made
        self._last_batch = -float("inf")
        group = definition.options.get(opt.GROUP_ID)
        wanted = definition.options.get(opt.COMMIT_OFFSETS)
        self._commits = (
            OffsetCommitter(lambda offsets: self._client().commit(group, offsets))
            if group is not None and wanted is not False
            else None
        )

    def initial_offset(self) -> StreamOffset:
        """The startup position, and where a bounded stream ends.

        Spark asks for it again and again until the first batch is planned; it stays.
        """
        if self._beginning is None:
            positions = self._positions()
            stops = resolve_stop_offsets(self._definition, self._client(), positions)
            starts = resolve_start_offsets(self._definition, self._client(), positions)
            starts = clamp_to_log_end(self._definition, self._client(), starts, stops)
            self._beginning = StreamOffset({}, starts, stops or {}, self._ids)
        return self._beginning

    def prepare_available_now(self) -> None:
        """From now on the stream has what it has now, and ends."""
        self._fixed = self._latest()

    def latest_offset_unlimited(self) -> StreamOffset:
        """The end of every partition as of now."""
        if effective_startup_mode(self._definition) == opt.LATEST:
            self.initial_offset()  # PySpark 4.1 asks for it after the end; it must not be later
        if not self._is_bounded:
            latest = self._latest()
            return StreamOffset(latest, ids=self._ids)
        progress = self.initial_offset()  # without the checkpoint, which 4.1 does not show
        return StreamOffset(self._bounded(progress, self._latest()), {}, progress.stops, self._ids)

    def latest_offset(self, progress: StreamOffset, limited: bool) -> StreamOffset:
        """Where the next batch ends; the same progress where there is nothing to read.

        Args:
            limited: whether the options' limits hold.
        """
        self.commit(progress)  # Spark plans a batch from here when the one before is committed
        asked, progress = progress, self._renewed(progress)
        latest = self._latest() if self._fixed is None else self._fixed
        changed = recreated_topics(progress.ids, self._ids)
        ends, anew = resolve_resume(self._definition, self._client(), dict(progress.offsets), dict(latest), changed)
        ends = self._bounded(progress, ends)
        starts = {**progress.positions, **anew}
        starts |= self._client().earliest([p for p in ends if p not in starts])
        if limited:
            ends = self._admitted(starts, ends)
        if (ends == progress.offsets and not anew) or (not ends and not progress.offsets):
            if self._fixed is not None:
                self.stop()
            return asked
        self._last_batch = time.monotonic()
        # what is read to its end now has the partition's newest record; of others nobody knows without reading
        read = [p for p in ends if starts[p] < ends[p] == latest.get(p)] if self._fixed is None else []
        self._ask_newest = self._client().newest_timestamp(read)
        begin = {p: starts[p] for p in ends if p not in progress.offsets or p in anew}
        return StreamOffset(ends, begin, progress.stops, self._ids)

    def plan_splits(self, start: StreamOffset, end: StreamOffset) -> Sequence[Split]:
        """The splits of one batch.

        Raises:
            OffsetError: the topics are not those that the offsets are of.
            DataLossError: records were removed before they were read.
        """
        if self._found is None:
            self._positions()  # a batch that is done again after a restart
        # what begins anew was looked at when the batch was planned
        changed = recreated_topics(start.ids, end.ids) - {topic for topic, _ in end.starts}
        check_checkpoint(self._definition, dict(start.offsets), dict(end.offsets), changed)
        check_checkpoint(self._definition, dict(end.offsets), dict(end.offsets), recreated_topics(end.ids, self._ids))
        starts = resolve_batch_starts(
            self._definition, self._client(), {**start.positions, **end.starts}, dict(end.offsets)
        )
        return make_splits(starts, end.offsets)

    def commit(self, progress: StreamOffset) -> None:
        """Tell Kafka what Spark has committed, where that is wanted."""
        if self._commits is not None:
            self._commits.commit(progress.offsets)

    def stop(self) -> None:
        """Wait a while for a commit that is on its way."""
        if self._commits is not None:
            self._commits.finish(_LAST_COMMIT)

    def report(self) -> dict[str, Any] | None:
        """The ends of the partitions, the time of the newest record that was read, and what became of the commits."""
        if not self._ends:
            return None
        told: dict[str, Any] = {"table": self._definition.name}
        if self._ask_newest is not None:
            self._newest, self._ask_newest = self._ask_newest(), None
        if self._newest is not None:
            told["maxTimestamp"] = self._newest
        if self._commits is not None and self._definition.options[opt.REGISTER_METRICS]:
            told |= {
                "commitsSucceeded": self._commits.succeeded,
                "commitsFailed": self._commits.failed,
                "committedOffsets": nest_by_topic(self._commits.committed),
            }
        return to_json(StreamOffset(self._ends), **told)

    def _bounded(self, progress: StreamOffset, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The ends as far as the stream may read; never behind where it is, but where the partition itself is."""
        if not self._is_bounded:
            return dict(ends)
        at, stops = progress.positions, progress.stops
        # a partition that is new since the end was fixed is not in the range
        return {p: max(min(end, stops[p]), min(end, at.get(p, 0))) for p, end in ends.items() if p in stops}

    def _renewed(self, progress: StreamOffset) -> StreamOffset:
        """The progress of a bounded stream that is started again after its end: it reads to where the end is now.

        One that was interrupted before goes on to the end that it had.
        """
        if self._beginning is None and self._is_bounded:
            reached = all(progress.positions.get(p, stop) >= stop for p, stop in progress.stops.items())
            stops = (
                resolve_stop_offsets(self._definition, self._client(), self._positions()) if reached else progress.stops
            )
            self._beginning = replace(progress, stops=stops or {})
            self._renewal = dict(self._beginning.stops)
        return progress if not self._renewal else replace(progress, stops=self._renewal)

    def _admitted(
        self, starts: Mapping[TopicPartition, int], ends: dict[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """The ends within the options' limits."""
        behind = compute_backlogs(starts, ends)
        total, allowed = sum(behind.values()), sum(behind.values())
        if self._waits(total):
            return {p: starts[p] for p in ends}
        if self.limits.max_bytes is not None and total:
            allowed = min(allowed, offsets_for_bytes(behind, self._measured(starts, behind), self.limits.max_bytes))
        if self.limits.max_offsets is not None:
            allowed = min(allowed, self.limits.max_offsets)
        if allowed == total:
            return ends
        shares = allocate(behind, allowed, sum(starts.values()))
        return {p: starts[p] + shares.get(p, 0) if p in behind else end for p, end in ends.items()}

    def _waits(self, total: int) -> bool:
        fewest = self.limits.min_offsets
        if fewest is None or self._fixed is not None or total >= fewest:
            return False
        return time.monotonic() - self._last_batch < self.limits.max_delay

    def _measured(
        self, starts: Mapping[TopicPartition, int], behind: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, float]:
        """Bytes of an offset in each partition; looked at again where they decide."""
        known = all(p in self._sizes for p in behind)
        budget = self.limits.max_bytes or 0
        if not known or sum(n * self._sizes[p] for p, n in behind.items()) > budget / 2:
            self._sizes |= bytes_per_offset(self._definition.client, {p: starts[p] for p in behind})
        usual = max(self._sizes.values(), default=_GUESS)
        return {p: self._sizes.get(p, usual) for p in behind}

    def _latest(self) -> Mapping[TopicPartition, int]:
        self._ends = self._client().latest_if_exists(self._positions())
        return self._ends

    def _client(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(client_config(self._definition, ENUMERATOR))
        return self._cluster

    def _positions(self) -> list[TopicPartition]:
        found = self._discovery.partitions(self._client())
        if found is not self._found:
            self._found, self._ids = found, topic_ids(self._client().admin(), {topic for topic, _ in found})
        return found
