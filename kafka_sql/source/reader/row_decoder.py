"""A run of records as rows: key and value decoded, the metadata put beside."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoded, Decoder, ErrorSink
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.types import Split
from kafka_sql.runtime.time_zone import session_zone
from kafka_sql.source.reader.key_value_join import RowOrigins, join_key_and_value
from kafka_sql.source.reader.metadata import FORMAT_PREFIX, metadata_columns, read_metadata, required_fields
from kafka_sql.table.changelog import ROW_KIND


@dataclass(frozen=True)
class DecodedRows:
    """The rows of a run of records.

    Attributes:
        batch: the stored columns.
        pairs: which of the records each row is from.
        kinds: what each row says happened (``+I``, ``-U``, ``+U``, ``-D``); None where all are inserted.
    """

    batch: pa.RecordBatch
    origins: RowOrigins
    row_kinds: pa.StringArray | None


class RowDecoder:
    """Makes rows of records. Where a column is in both key and value, the value's is read, as in Flink.

    Attributes:
        schema: the stored columns.
        key_columns: the names of those that tell rows apart: of the record's key, or of the changes' primary key.
        split: where the records are from.
        metadata: the columns of metadata.
        zone: the session's time zone, where one of them depends on it.
        wanted: what must be read of the records.
    """

    def __init__(self, definition: Definition, schema: pa.Schema, split: Split) -> None:
        """
        Raises:
            SchemaError: a column that the format or Kafka's metadata cannot carry.
        """
        self.schema, self.split = schema, split
        self.metadata = metadata_columns(definition, schema)
        self._asked = [c.key.removeprefix(FORMAT_PREFIX) for c in self.metadata if c.from_format]
        if definition.is_changelog and ROW_KIND not in self._asked:
            self._asked.append(ROW_KIND)
        self.value = definition.value.create_decoder(schema, tuple(self._asked))
        self._value_columns = definition.value.columns
        self._key = definition.key.create_decoder(schema) if definition.key is not None else None
        self._key_names = definition.key.columns if definition.key is not None else ()
        self.key_columns = definition.table.primary_key if definition.is_changelog else self._key_names
        self.time_zone = session_zone() if any(c.needs_time_zone for c in self.metadata) else ""
        self.record_fields = required_fields(self.metadata, keys=self._key is not None)

    def decode(self, records: Records, bad: ErrorSink = None) -> DecodedRows:
        """The rows of a run of records.

        Args:
            bad: takes the error of each record that cannot be read, whose index is its ``row``.

        Raises:
            DecodeError: a payload is not what the table declares, and nobody takes it.
        """
        # the key first, as in Flink: its error comes first, too
        keys = RowDecoder.keys(self, records, bad) if self._key is not None else None
        of_value: list[DecodeError] = []
        values = self._decoded(self.value, records.values, records, None if bad is None else of_value)
        if bad is not None and (bad or of_value):
            failed = {e.row: e for e in (*of_value, *bad)}
            keys, values = keys and keys.without_payloads(failed), values.without_payloads(failed)
            bad[:] = [e for _, e in sorted(failed.items())]
        pairs = join_key_and_value(len(records.offsets), keys, values)
        columns = dict(zip(self._value_columns, pairs.take_values(values.columns), strict=True))
        if keys is not None:
            columns = {**dict(zip(self._key_names, pairs.take_keys(keys.columns), strict=True)), **columns}
        formats = dict(zip(self._asked, pairs.take_values(values.metadata), strict=True))
        for c in self.metadata:
            if c.from_format:
                array = formats[c.key.removeprefix(FORMAT_PREFIX)]
            else:
                array = pairs.take_records(read_metadata(c.key, records, self.split))
            columns[c.name] = c.cast(array, self.time_zone).cast(self.schema.field(c.name).type)
        rows = pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)
        return DecodedRows(rows, pairs, formats.get(ROW_KIND))

    def keys(self, records: Records, bad: ErrorSink = None) -> Decoded:
        """The keys of records.

        Args:
            bad: takes the error of each record whose key cannot be read.

        Raises:
            DecodeError: a key is not what the table declares, and nobody takes it.
        """
        assert self._key is not None
        return self._decoded(self._key, records.keys, records, bad, " (key)")

    def _decoded(
        self, decoder: Decoder, payloads: pa.BinaryArray | None, records: Records, bad: ErrorSink, part: str = ""
    ) -> Decoded:
        def placed(error: DecodeError) -> DecodeError:
            return error.at(self.split.describe_offset(int(records.offsets[error.row])) + part)

        wrong: list[DecodeError] = []
        try:
            made = decoder.decode(payloads, None if bad is None else wrong)
        except DecodeError as e:
            raise placed(e) from e
        if bad is not None:
            bad += sorted(map(placed, wrong), key=lambda e: e.row)
        return made
