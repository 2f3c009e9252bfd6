"""A split's records as Spark's columns: fetch, decode key and value, put the metadata beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.kafka.librdkafka.consumer import BatchSize, fetch
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.types import Split
from kafka_sql.options import connector as opt
from kafka_sql.source.enumerator.data_loss import data_loss_handler
from kafka_sql.source.reader.bad_records import bad_record_handler
from kafka_sql.source.reader.changelog_normalize import changelog_changes, normalize, upsert_changes
from kafka_sql.source.reader.row_decoder import RowDecoder
from kafka_sql.source.reader.tolerant_row_decoder import TolerantRowDecoder


def read_split(
    definition: Definition, schema: pa.Schema, split: Split, config: Mapping[str, str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a split.

    Args:
        schema: the stored columns, as Spark wants them.
        config: the client's, where it is not just the table's.

    Raises:
        DecodeError: a payload is not what the table declares; names topic[partition]@offset and the field.
        BrokerError: the records cannot be had.
    """
    with _decoder(definition, schema, split) as rows:
        for records in _records(definition, rows, split, config):
            yield rows.decode(records).batch


def read_latest_rows(
    definition: Definition, schema: pa.Schema, split: Split, config: Mapping[str, str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Read what the changes in a split leave: the latest row of each key. Otherwise as ``read_split``."""
    with _decoder(definition, schema, split) as rows:
        records = _records(definition, rows, split, config)
        yield from normalize(rows, records, upsert_changes if definition.is_upsert else changelog_changes)


@contextmanager
def _decoder(definition: Definition, schema: pa.Schema, split: Split) -> Iterator[RowDecoder]:
    """The decoder of a split, for the time of a ``with`` block: it may hold a producer of dead letters."""
    with bad_record_handler(definition, split) as bad:
        yield (
            RowDecoder(definition, schema, split) if bad is None else TolerantRowDecoder(definition, schema, split, bad)
        )


def _records(
    definition: Definition, rows: RowDecoder, split: Split, config: Mapping[str, str] | None
) -> Iterator[Records]:
    size = BatchSize(definition.options[opt.BATCH_ROWS], definition.options[opt.BATCH_BYTES])
    return fetch(config or definition.client, split, rows.record_fields, size, data_loss_handler(definition))
