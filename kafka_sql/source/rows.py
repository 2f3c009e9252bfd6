"""A split's records as Spark's columns: fetch, decode key and value, put the metadata beside."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoded, Decoder
from kafka_sql.kafka.consumer import fetch
from kafka_sql.kafka.record import Records
from kafka_sql.kafka.split import Split
from kafka_sql.source.metadata import FORMAT_PREFIX, metadata_columns, read_metadata, wanted
from kafka_sql.source.pairs import pair
from kafka_sql.zone import session_zone


def read_split(definition: Definition, schema: pa.Schema, split: Split) -> Iterator[pa.RecordBatch]:
    """Read a split.

    Where a column is in both key and value, the value's is read, as in Flink.

    Args:
        schema: the stored columns, as Spark wants them.

    Raises:
        DecodeError: a payload is not what the table declares; names topic[partition]@offset and the field.
        BrokerError: the records cannot be had.
    """
    metadata = metadata_columns(definition, schema)
    asked = [c.key.removeprefix(FORMAT_PREFIX) for c in metadata if c.of_format]
    value = definition.value.decoder(schema, tuple(asked))
    key = definition.key.decoder(schema) if definition.key is not None else None
    zone = session_zone() if any(c.zoned for c in metadata) else ""
    for records in fetch(
        definition.client, split, value.terminator, wanted(metadata, key.terminator if key is not None else None)
    ):
        # the key first, as in Flink: its error comes first, too
        keys = _decode(key, records.keys, records, split, " (key)") if key is not None else None
        values = _decode(value, records.values, records, split)
        pairs = pair(len(records.offsets), keys, values)
        columns = dict(zip(definition.value.columns, pairs.values(values.columns), strict=True))
        if keys is not None and definition.key is not None:
            columns = {**dict(zip(definition.key.columns, pairs.keys(keys.columns), strict=True)), **columns}
        formats = dict(zip(asked, pairs.values(values.metadata), strict=True))
        for c in metadata:
            if c.of_format:
                array = formats[c.key.removeprefix(FORMAT_PREFIX)]
            else:
                array = pairs.records(read_metadata(c.key, records, split))
            columns[c.name] = c.cast(array, zone).cast(schema.field(c.name).type)
        yield pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _decode(
    decoder: Decoder, payloads: pa.BinaryArray | None, records: Records, split: Split, part: str = ""
) -> Decoded:
    try:
        return decoder.decode(payloads)
    except DecodeError as e:
        raise e.at(split.at(int(records.offsets[e.row])) + part) from e
