"""Read a split with the client that 'scan.client' chooses."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from kafka_sql.errors import FetchError, KafkaSqlError
from kafka_sql.kafka.direct.reads.partition_fetcher import UnsupportedReadError
from kafka_sql.kafka.direct.reads.reader import read_columnar, read_columnar_or_raise
from kafka_sql.kafka.fetch_errors import raise_data_loss
from kafka_sql.kafka.librdkafka.consumer import read_to_end
from kafka_sql.kafka.records import DEFAULT_SIZE, VALUES_ONLY, BatchSize, RecordFields, Records
from kafka_sql.kafka.split import DataLossHandler, Split
from kafka_sql.options.connector import AUTO, DIRECT, LIBRDKAFKA, SCAN_CLIENT

_LOG = logging.getLogger("kafka_sql.kafka")


def read_records(
    config: Mapping[str, str],
    split: Split,
    fields: RecordFields = VALUES_ONLY,
    size: BatchSize = DEFAULT_SIZE,
    on_data_loss: DataLossHandler | None = None,
    client: str = AUTO,
    on_client: Callable[[str], None] = lambda client: None,
) -> Iterator[Records]:
    """Read a split to its end.

    The end is an offset: reading stops at a record with offset ``stop`` or higher, or at the partition's end if that is
    at ``stop`` or beyond. Records are not counted: control records, aborted transactions and compaction leave offsets
    without records.

    Args:
        on_data_loss: called with the split, the missing offset and the first available offset if records were deleted
            before they were read; if it returns, reading resumes at the first available offset. By default deleted
            records are an error.
        client: the value of 'scan.client'. AUTO reads with the direct client as far as it can, and the rest with
            librdkafka.
        on_client: called with DIRECT or LIBRDKAFKA before that client reads.

    Raises:
        DataLossError: an offset of the split was deleted.
        OffsetError: an offset of the split does not exist yet.
        FetchError: a broker returned an error, or nothing arrived for ``default.api.timeout.ms``;
            or ``client`` is DIRECT, and the direct client cannot read the split.
    """
    if split.start >= split.stop:
        return
    handler = on_data_loss or raise_data_loss
    on_client(LIBRDKAFKA if client == LIBRDKAFKA else DIRECT)
    if client == LIBRDKAFKA:
        _log_librdkafka(split.topic)
        yield from read_to_end(config, split, fields, size, handler)
        return
    if client == DIRECT:
        yield from _read_direct(config, split, fields, size, handler)
        return
    offset = yield from read_columnar(config, split, fields, size, handler)
    if offset < split.stop:
        on_client(LIBRDKAFKA)
        yield from read_to_end(config, replace(split, start=offset), fields, size, handler)


def _read_direct(
    config: Mapping[str, str], split: Split, fields: RecordFields, size: BatchSize, on_data_loss: DataLossHandler
) -> Iterator[Records]:
    try:
        yield from read_columnar_or_raise(config, split, fields, size, on_data_loss)
    except UnsupportedReadError as e:
        if isinstance(e.__cause__, KafkaSqlError):
            raise e.__cause__ from None
        raise FetchError(
            f"{split.describe_offset(e.offset)}: the direct client cannot read this: {e.reason}. Option "
            f"'{SCAN_CLIENT.key}' is '{DIRECT}': remove it to read this with librdkafka.",
            **split.at(e.offset),
        ) from None


@functools.lru_cache(1_000)
def _log_librdkafka(topic: str) -> None:
    """Log once per topic."""
    _LOG.info("topic '%s': reading with librdkafka: '%s' is '%s'", topic, SCAN_CLIENT.key, LIBRDKAFKA)
