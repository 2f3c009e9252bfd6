"""Read a split as Arrow batches: fetch its records and decode them to rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.records import BatchSize, Records
from kafka_sql.kafka.split import Split
from kafka_sql.options import connector as opt
from kafka_sql.runtime.time_zone import session_time_zone
from kafka_sql.source.data_loss import data_loss_handler
from kafka_sql.source.reader import changelog_content, content_cache
from kafka_sql.source.reader.bad_records import bad_record_handler
from kafka_sql.source.reader.batch_parts import decode_in_parts
from kafka_sql.source.reader.dead_letters import DeadLetterTopic
from kafka_sql.source.reader.metadata import metadata_columns
from kafka_sql.source.reader.record_counters import count_records_read
from kafka_sql.source.reader.row_decoder import RowDecoder, TolerantRowDecoder
from kafka_sql.table.changelog import IS_DELETED


def read_split(
    definition: Definition,
    schema: pa.Schema,
    split: Split,
    config: Mapping[str, str] | None = None,
    dead_letter_topic: DeadLetterTopic | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a split; of an upsert table, its changes.

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
            if not definition.is_upsert:
                yield from (rows.batch for rows in decode_in_parts(decoder.decode, records))
                continue
            for changes in decode_in_parts(partial(changelog_content.upsert_changes, decoder), records):
                for batch in changes.drop_columns([IS_DELETED]).to_batches():
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=decoder.schema)


def read_remaining_rows(
    definition: Definition,
    schema: pa.Schema,
    split: Split,
    config: Mapping[str, str] | None = None,
    dead_letter_topic: DeadLetterTopic | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a changelog's split that remain after its changes. Parameters and errors: see ``read_split``."""
    decode_changes = _change_decoder(definition)
    with _row_decoder(definition, schema, split, dead_letter_topic) as decoder:
        yield from changelog_content.reduce_changes(
            decoder, _fetch_records(definition, decoder, split, config), decode_changes
        )


def read_cached(
    definition: Definition,
    schema: pa.Schema,
    split: Split,
    config: Mapping[str, str] | None = None,
    dead_letter_topic: DeadLetterTopic | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read what ``read_remaining_rows`` or ``read_split`` reads, but records only once per worker.

    For tables that each micro-batch of a stream reads. Parameters and errors: see ``read_split``.
    """
    time_zone = session_time_zone() if any(c.needs_time_zone for c in metadata_columns(definition, schema)) else ""
    key = content_cache.table_key(definition, time_zone), split.qualified_topic, split.partition
    if not definition.reads_content:
        return content_cache.CACHE.read_appended(
            key, split, lambda part: read_split(definition, schema, part, config, dead_letter_topic)
        )
    decode_changes = _change_decoder(definition)

    def read_changes(part: Split) -> Iterator[changelog_content.Changes]:
        with _row_decoder(definition, schema, part, dead_letter_topic) as decoder:
            for records in _fetch_records(definition, decoder, part, config):
                yield from decode_in_parts(partial(decode_changes, decoder), records)

    return content_cache.CACHE.read_changelog(
        key,
        split,
        _row_identity(definition),
        schema,
        lambda part: read_remaining_rows(definition, schema, part, config, dead_letter_topic),
        read_changes,
    )


def _change_decoder(definition: Definition) -> changelog_content.DecodeChanges:
    return changelog_content.upsert_changes if definition.is_upsert else changelog_content.changelog_changes


def _row_identity(definition: Definition) -> content_cache.Identity:
    if definition.row_key:
        return content_cache.Identity(definition.row_key, is_key=True)
    return content_cache.Identity([c.name for c in definition.table.physical_columns], is_key=False)


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
