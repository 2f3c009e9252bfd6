"""Read a split as Arrow batches: fetch its records and decode them to rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.records import BatchSize, Records
from kafka_sql.kafka.types import Split
from kafka_sql.options import connector as opt
from kafka_sql.source.dead_letter_topic import DeadLetterTopic
from kafka_sql.source.enumerator.data_loss import data_loss_handler
from kafka_sql.source.reader.bad_records import bad_record_handler
from kafka_sql.source.reader.changelog_normalize import changelog_changes, normalize, upsert_changes
from kafka_sql.source.reader.record_counters import count_records_read
from kafka_sql.source.reader.row_decoder import RowDecoder, TolerantRowDecoder


def read_split(
    definition: Definition,
    schema: pa.Schema,
    split: Split,
    config: Mapping[str, str] | None = None,
    dead_letter_topic: DeadLetterTopic | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a split.

    Args:
        schema: the source columns, with the types that Spark expects.
        config: the client's configuration if it differs from the table's.
        dead_letter_topic: where to write undecodable records; None to write none.

    Raises:
        DecodeError: a payload does not match the declaration; names topic[partition]@offset and the field.
        BrokerError: the records are unavailable, or a dead letter could not be written.
    """
    with _row_decoder(definition, schema, split, dead_letter_topic) as decoder:
        for records in _fetch_records(definition, decoder, split, config):
            yield decoder.decode(records).batch


def read_latest_rows(
    definition: Definition,
    schema: pa.Schema,
    split: Split,
    config: Mapping[str, str] | None = None,
    dead_letter_topic: DeadLetterTopic | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read the latest row of each key of a split. Parameters and errors are those of ``read_split``."""
    with _row_decoder(definition, schema, split, dead_letter_topic) as decoder:
        records = _fetch_records(definition, decoder, split, config)
        yield from normalize(decoder, records, upsert_changes if definition.is_upsert else changelog_changes)


@contextmanager
def _row_decoder(
    definition: Definition, schema: pa.Schema, split: Split, dead_letter_topic: DeadLetterTopic | None
) -> Iterator[RowDecoder]:
    with bad_record_handler(definition, split, dead_letter_topic) as handler:
        if handler is None:
            yield RowDecoder(definition, schema, split)
        else:
            yield TolerantRowDecoder(definition, schema, split, handler)


def _fetch_records(
    definition: Definition, decoder: RowDecoder, split: Split, config: Mapping[str, str] | None
) -> Iterator[Records]:
    size = BatchSize(definition.options[opt.BATCH_ROWS], definition.options[opt.BATCH_BYTES])
    clients: list[str] = []  # the client that reads is appended when it starts
    batches = read_records(
        config or definition.client_config,
        split,
        decoder.record_fields,
        size,
        data_loss_handler(definition),
        definition.options[opt.SCAN_CLIENT],
        clients.append,
    )
    for records in batches:
        count_records_read(definition.accumulator_id, len(records.offsets), definition.name, clients[-1])
        yield records
