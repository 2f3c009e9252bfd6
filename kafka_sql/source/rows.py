"""A split's records as Spark's columns: fetch, decode key and value, put the metadata beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoded, Decoder
from kafka_sql.kafka.consumer import BatchSize, fetch
from kafka_sql.kafka.record import Records
from kafka_sql.kafka.split import Split
from kafka_sql.options import connector as opt
from kafka_sql.row_kind import ROW_KIND
from kafka_sql.source.latest import changelog, latest, upserts
from kafka_sql.source.loss import lost_in_task
from kafka_sql.source.metadata import FORMAT_PREFIX, metadata_columns, read_metadata, wanted
from kafka_sql.source.pairs import Pairs, pair
from kafka_sql.zone import session_zone


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
    rows = RowDecoder(definition, schema, split)
    for records in _records(definition, rows, split, config):
        yield rows.decode(records).batch


def read_content(
    definition: Definition, schema: pa.Schema, split: Split, config: Mapping[str, str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Read what the changes in a split leave: the latest row of each key. Otherwise as ``read_split``."""
    rows = RowDecoder(definition, schema, split)
    records = _records(definition, rows, split, config)
    yield from latest(rows, records, upserts if definition.upsert else changelog)


def _records(
    definition: Definition, rows: RowDecoder, split: Split, config: Mapping[str, str] | None
) -> Iterator[Records]:
    size = BatchSize(definition.options[opt.BATCH_ROWS], definition.options[opt.BATCH_BYTES])
    return fetch(config or definition.client, split, rows.value.terminator, rows.wanted, size, lost_in_task(definition))


@dataclass(frozen=True)
class Rows:
    """The rows of a run of records.

    Attributes:
        batch: the stored columns.
        pairs: which of the records each row is from.
        kinds: what each row says happened (``+I``, ``-U``, ``+U``, ``-D``); None where all are inserted.
    """

    batch: pa.RecordBatch
    pairs: Pairs
    kinds: pa.StringArray | None


class RowDecoder:
    """Makes rows of records. Where a column is in both key and value, the value's is read, as in Flink.

    Attributes:
        schema: the stored columns.
        key_columns: the names of those that tell rows apart: of the record's key, or of the changes' primary key.
        wanted: what must be read of the records.
    """

    def __init__(self, definition: Definition, schema: pa.Schema, split: Split) -> None:
        """
        Raises:
            SchemaError: a column that the format or Kafka's metadata cannot carry.
        """
        self.schema, self._split = schema, split
        self._metadata = metadata_columns(definition, schema)
        self._asked = [c.key.removeprefix(FORMAT_PREFIX) for c in self._metadata if c.of_format]
        if definition.changes and ROW_KIND not in self._asked:
            self._asked.append(ROW_KIND)
        self.value = definition.value.decoder(schema, tuple(self._asked))
        self._value_columns = definition.value.columns
        self._key = definition.key.decoder(schema) if definition.key is not None else None
        self._key_names = definition.key.columns if definition.key is not None else ()
        self.key_columns = definition.table.primary_key if definition.changes else self._key_names
        self._zone = session_zone() if any(c.zoned for c in self._metadata) else ""
        self.wanted = wanted(self._metadata, self._key.terminator if self._key is not None else None)

    def decode(self, records: Records) -> Rows:
        """The rows of a run of records.

        Raises:
            DecodeError: a payload is not what the table declares.
        """
        # the key first, as in Flink: its error comes first, too
        keys = self.keys(records) if self._key is not None else None
        values = self._decoded(self.value, records.values, records)
        pairs = pair(len(records.offsets), keys, values)
        columns = dict(zip(self._value_columns, pairs.values(values.columns), strict=True))
        if keys is not None:
            columns = {**dict(zip(self._key_names, pairs.keys(keys.columns), strict=True)), **columns}
        formats = dict(zip(self._asked, pairs.values(values.metadata), strict=True))
        for c in self._metadata:
            if c.of_format:
                array = formats[c.key.removeprefix(FORMAT_PREFIX)]
            else:
                array = pairs.records(read_metadata(c.key, records, self._split))
            columns[c.name] = c.cast(array, self._zone).cast(self.schema.field(c.name).type)
        rows = pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)
        return Rows(rows, pairs, formats.get(ROW_KIND))

    def keys(self, records: Records) -> Decoded:
        """The keys of records.

        Raises:
            DecodeError: a key is not what the table declares.
        """
        assert self._key is not None
        return self._decoded(self._key, records.keys, records, " (key)")

    def _decoded(self, decoder: Decoder, payloads: pa.BinaryArray | None, records: Records, part: str = "") -> Decoded:
        try:
            return decoder.decode(payloads)
        except DecodeError as e:
            raise e.at(self._split.at(int(records.offsets[e.row])) + part) from e
