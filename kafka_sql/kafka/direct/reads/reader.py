"""Read a split as columns, from record batches fetched from the partition's leader or from a replica in the same rack.

What the direct client does not support is left to librdkafka: settings, brokers that reject this client, and batches in
the formats before Apache Kafka 0.11.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack
from typing import Final, TypeVar

from kafka_sql.errors import FetchError
from kafka_sql.kafka.client_cache import ClientCache
from kafka_sql.kafka.direct.eligibility import find_read_obstacle
from kafka_sql.kafka.direct.reads.fetch_wait import FetchSettings, FetchWait, fetch_settings
from kafka_sql.kafka.direct.reads.fetched_batches import FetchedBatches, split_runs, to_records
from kafka_sql.kafka.direct.reads.partition_fetcher import Brokers, PartitionFetcher, UnsupportedReadError
from kafka_sql.kafka.error_codes import ErrorCode, error_text
from kafka_sql.kafka.fetch_errors import out_of_range_error
from kafka_sql.kafka.protocol.codec import MalformedResponse
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.errors import RetriableError
from kafka_sql.kafka.protocol.fetch import FetchResult
from kafka_sql.kafka.records import BatchSize, RecordFields, Records
from kafka_sql.kafka.split import DataLossHandler, Split

_LOG = logging.getLogger("kafka_sql.kafka")
T = TypeVar("T")

_REPLICA_SECONDS: Final = 5.0  # how long to wait for records that the leader has, but its preferred replica does not
_MAX_REMEMBERED: Final = 1_000  # topics, and reasons that were logged
_OLD_FORMAT: Final = "batches in the format before Apache Kafka 0.11"

_unsupported: Final[dict[tuple[str, str], str]] = {}  # why, by bootstrap servers and topic
_logged: Final[dict[tuple[str, str], None]] = {}  # topics and reasons


def read_columnar(
    config: Mapping[str, str],
    split: Split,
    fields: RecordFields,
    size: BatchSize,
    on_data_loss: DataLossHandler,
) -> Generator[Records, None, int]:
    """Read a split as far as it is supported. See ``kafka_sql.kafka.fetch.read_records``.

    Returns:
        the offset of the first record that was not read; at least ``split.stop`` if all were.
    """
    cluster_topic = config["bootstrap.servers"], split.topic
    reason = _unsupported.get(cluster_topic)
    if reason is not None:
        _log_fallback(split, split.start, reason)
        return split.start
    try:
        yield from read_columnar_or_raise(config, split, fields, size, on_data_loss)
    except UnsupportedReadError as e:
        if e.is_lasting:
            _remember(_unsupported, cluster_topic, e.reason)
        _log_fallback(split, e.offset, e.reason)
        return e.offset
    return split.stop


def read_columnar_or_raise(
    config: Mapping[str, str],
    split: Split,
    fields: RecordFields,
    size: BatchSize,
    on_data_loss: DataLossHandler,
) -> Iterator[Records]:
    """Read a split to its end. See ``kafka_sql.kafka.fetch.read_records``.

    Raises:
        UnsupportedReadError: the direct client cannot read it any further.
    """
    obstacle = find_read_obstacle(config)
    if obstacle is not None:
        raise UnsupportedReadError(split.start, obstacle, is_lasting=False)
    settings = fetch_settings(config, size.max_bytes)
    with _CACHE.lease(config) as brokers:
        fetcher = PartitionFetcher(brokers, split, settings)
        position = split.start
        while position < split.stop:
            response = _wait_for_batches(fetcher, split, position, settings)
            if response is None:
                position = _skip_deleted(fetcher, split, position, settings, on_data_loss)
                continue
            result, batches = response
            _log_direct(split.topic)
            try:
                damaged = batches.find_wrong_checksum(split.stop) if settings.check_crcs else None
                if damaged is not None:
                    position = max(position, damaged)
                    raise MalformedResponse("the checksum of a record batch is wrong")
                is_readable = batches.is_supported and not batches.is_damaged
                if is_readable and batches.next_offset < split.stop:
                    fetcher.send_ahead(batches.next_offset, settings.short_wait_ms)
                for columns, next_position in batches.locate(
                    position, split.stop, result.aborted, settings.max_batch, fields
                ):
                    for start, end in split_runs(columns, size.max_rows, size.max_bytes):
                        yield to_records(columns[:, start:end], fields)
                    position = next_position
            except MalformedResponse as e:
                raise FetchError(f"{split.describe_offset(position)}: {e}.", **split.at(position)) from None


def _log_fallback(split: Split, offset: int, reason: str) -> None:
    is_known = (split.topic, reason) in _logged
    _remember(_logged, (split.topic, reason), None)
    level = logging.DEBUG if is_known else logging.INFO
    _LOG.log(level, "%s: reading with librdkafka: %s", split.describe_offset(offset), reason)


@functools.lru_cache(_MAX_REMEMBERED)
def _log_direct(topic: str) -> None:
    """Log once per topic."""
    _LOG.info("topic '%s': reading with the direct client", topic)


def _remember(entries: dict[tuple[str, str], T], key: tuple[str, str], value: T) -> None:
    """Add an entry. If there are too many, remove the oldest one."""
    entries[key] = value
    if len(entries) > _MAX_REMEMBERED:
        del entries[next(iter(entries))]


def _open_brokers(config: Mapping[str, str], stack: ExitStack) -> Brokers:
    brokers = Brokers(ConnectionPool(config))
    stack.callback(brokers.connections.close)
    return brokers


_CACHE: Final = ClientCache(_open_brokers)


def _wait_for_batches(
    fetcher: PartitionFetcher, split: Split, position: int, settings: FetchSettings
) -> tuple[FetchResult, FetchedBatches] | None:
    """Fetch until the response has batches with the offset ``position`` or later ones.

    Returns:
        None if the partition's leader does not have the offset.
    """
    wait = FetchWait(split, position, settings)
    while True:
        timeout = wait.begin_request()
        try:
            result = fetcher.fetch(position, wait.fetch_ms, wait.min_bytes, timeout)
        except (OSError, EOFError, RetriableError) as e:
            wait.after_failure(e)
            continue
        if result.code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return None
        batches = FetchedBatches(result.records)
        if batches.next_offset > position:
            return result, batches
        if not batches.is_supported:
            raise UnsupportedReadError(position, _OLD_FORMAT, is_lasting=True)
        if batches.is_damaged:
            raise FetchError(
                f"{split.describe_offset(position)}: the header of a record batch is damaged.", **split.at(position)
            )
        wait.after_no_records(result)
        if fetcher.is_at_replica and not split.end_may_not_exist and wait.waited > _REPLICA_SECONDS:
            fetcher.leave_replica()


def _skip_deleted(
    fetcher: PartitionFetcher, split: Split, position: int, settings: FetchSettings, on_data_loss: DataLossHandler
) -> int:
    """Report the deleted records at ``position``, and return the first offset that the partition has."""
    wait = FetchWait(split, position, settings)
    while True:
        try:
            first = fetcher.earliest_offset(position, wait.begin_request())
            break
        except (OSError, EOFError, RetriableError) as e:
            wait.after_failure(e)
    if first <= position:
        raise out_of_range_error(split, position, error_text(ErrorCode.OFFSET_OUT_OF_RANGE))
    on_data_loss(split, position, first)
    return first
