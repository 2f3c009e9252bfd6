"""A split's records as Spark's columns: fetch, decode key and value, put the metadata beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoded, Decoder
from kafka_sql.kafka.consumer import BatchSize, fetch
from kafka_sql.kafka.record import Records
from kafka_sql.kafka.split import Split
from kafka_sql.options import connector as opt
from kafka_sql.source.latest import latest
from kafka_sql.source.loss import lost_in_task
from kafka_sql.source.metadata import FORMAT_PREFIX, metadata_columns, read_metadata, wanted
from kafka_sql.source.pairs import Pairs, pair
from kafka_sql.zone import session_zone


def read_split(
    definition: Definition, schema: pa.Schema, split: Split, config: Mapping[str, str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Read a split; of an upsert table, the latest row of each key.

    Args:
        schema: the stored columns, as Spark wants them.
        config: the client's, where it is not just the table's.

    Raises:
        DecodeError: a payload is not what the table declares; names topic[partition]@offset and the field.
        BrokerError: the records cannot be had.
    """
    rows = RowDecoder(definition, schema, split)
    size = BatchSize(definition.options[opt.BATCH_ROWS], definition.options[opt.BATCH_BYTES])
    records = fetch(
        config or definition.client, split, rows.value.terminator, rows.wanted, size, lost_in_task(definition)
    )
    if definition.upsert:
        yield from latest(rows, records)
    else:
        for batch in records:
            yield rows.decode(batch)[0]


class RowDecoder:
    """Makes rows of records. Where a column is in both key and value, the value's is read, as in Flink.

    Attributes:
        schema: the stored columns.
        key_columns: the names of those that are in the key.
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
        self.value = definition.value.decoder(schema, tuple(self._asked))
        self._value_columns = definition.value.columns
        self._key = definition.key.decoder(schema) if definition.key is not None else None
        self.key_columns = definition.key.columns if definition.key is not None else ()
        self._zone = session_zone() if any(c.zoned for c in self._metadata) else ""
        self.wanted = wanted(self._metadata, self._key.terminator if self._key is not None else None)

    def decode(self, records: Records) -> tuple[pa.RecordBatch, Pairs]:
        """The rows of a run of records, and which of them each is from.

        Raises:
            DecodeError: a payload is not what the table declares.
        """
        # the key first, as in Flink: its error comes first, too
        keys = self.keys(records) if self._key is not None else None
        values = self._decoded(self.value, records.values, records)
        pairs = pair(len(records.offsets), keys, values)
        columns = dict(zip(self._value_columns, pairs.values(values.columns), strict=True))
        if keys is not None:
            columns = {**dict(zip(self.key_columns, pairs.keys(keys.columns), strict=True)), **columns}
        formats = dict(zip(self._asked, pairs.values(values.metadata), strict=True))
        for c in self._metadata:
            if c.of_format:
                array = formats[c.key.removeprefix(FORMAT_PREFIX)]
            else:
                array = pairs.records(read_metadata(c.key, records, self._split))
            columns[c.name] = c.cast(array, self._zone).cast(self.schema.field(c.name).type)
        rows = pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)
        return rows, pairs

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
