"""Read a split as Arrow batches: fetch its records and decode them to rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.records import BatchSize, Records
from kafka_sql.kafka.split import Split
from kafka_sql.options import connector as opt
from kafka_sql.runtime.task import session_time_zone
from kafka_sql.source.data_loss import data_loss_handler
from kafka_sql.source.reader import changelog_content, content_cache
from kafka_sql.source.reader.bad_records import bad_record_handler
from kafka_sql.source.reader.dead_letters import DeadLetterTopic
from kafka_sql.source.reader.metadata import metadata_columns
from kafka_sql.source.reader.record_counters import count_records_read
from kafka_sql.source.reader.row_decoder import RowDecoder, decode_in_parts


@dataclass(frozen=True)
class SplitReader:
    """Reads splits of a table.

    All methods raise DecodeError if a payload does not match the declaration (it names topic[partition]@offset and the
    field), and BrokerError if the records are unavailable, or a dead letter could not be written.
    """

    definition: Definition
    schema: pa.Schema  # the source columns, with the types that Spark expects
    config: Mapping[str, str] | None = None  # the client's configuration if it differs from the table's
    dead_letter_topic: DeadLetterTopic | None = None  # where to write undecodable records; None to write none

    def read(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split; of an upsert table, its changes."""
        if self.definition.is_upsert:
            for changes in self._read_changes(split):
                yield from changelog_content.to_batches(changes, self.schema)
            return
        with self._open_decoder(split) as decoder:
            for records in self._fetch(decoder, split):
                yield from (rows.batch for rows in decode_in_parts(decoder.decode, records))

    def read_remaining(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a changelog that remain after the changes of a split."""
        return changelog_content.reduce_changes(self._read_changes(split), self._row_identity(), self.schema)

    def read_cached(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Yield the content of a table that each micro-batch of a stream reads; read records only once per worker."""
        needs_time_zone = any(column.needs_time_zone for column in metadata_columns(self.definition, self.schema))
        table = content_cache.table_key(self.definition, session_time_zone() if needs_time_zone else "")
        read = self.read_remaining if self.definition.reads_content else self.read

        def update(batches: list[pa.RecordBatch], new: Split) -> list[pa.RecordBatch]:
            if not self.definition.reads_content:
                return [*batches, *read(new)]
            changes = list(self._read_changes(new))
            if not changes:
                return batches
            all_changes = pa.concat_tables(changes)
            return content_cache.apply_changes(batches, all_changes, self._row_identity(), self.schema)

        return content_cache.CACHE.read((table, split.qualified_topic, split.partition), split, read, update)

    def _row_identity(self) -> changelog_content.Identity:
        columns = self.definition.row_key or [column.name for column in self.definition.table.physical_columns]
        return changelog_content.Identity(columns, is_key=bool(self.definition.row_key))

    def _read_changes(self, split: Split) -> Iterator[changelog_content.Changes]:
        decode = changelog_content.upsert_changes if self.definition.is_upsert else changelog_content.changelog_changes
        with self._open_decoder(split) as decoder:
            for records in self._fetch(decoder, split):
                yield from decode_in_parts(partial(decode, decoder), records)

    @contextmanager
    def _open_decoder(self, split: Split) -> Iterator[RowDecoder]:
        with bad_record_handler(self.definition, split, self.dead_letter_topic) as handler:
            yield RowDecoder(self.definition, self.schema, split, handler)

    def _fetch(self, decoder: RowDecoder, split: Split) -> Iterator[Records]:
        definition = self.definition
        clients: list[str] = []  # the client that reads is appended when it starts
        batches = read_records(
            self.config or definition.client_config,
            split,
            decoder.record_fields,
            BatchSize(definition.options[opt.BATCH_ROWS], definition.options[opt.BATCH_BYTES]),
            data_loss_handler(definition),
            definition.options[opt.SCAN_CLIENT],
            clients.append,
        )
        for records in batches:
            count_records_read(definition.accumulator_id, len(records.offsets), definition.name, clients[-1])
            yield records
