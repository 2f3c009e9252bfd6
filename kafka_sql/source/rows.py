"""A split's records as Spark's columns: fetch, decode, put the metadata beside."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoded, Decoder
from kafka_sql.kafka.consumer import Records, fetch
from kafka_sql.kafka.split import Split
from kafka_sql.source.metadata import METADATA


def read_split(definition: Definition, schema: pa.Schema, split: Split) -> Iterator[pa.RecordBatch]:
    """Read a split.

    Args:
        schema: the stored columns, as Spark wants them.

    Raises:
        DecodeError: a payload is not what the table declares; names topic[partition]@offset and the field.
        BrokerError: the records cannot be had.
    """
    physical = pa.schema([schema.field(c.name) for c in definition.table.physical])
    decoder = definition.value_format.decoder(physical, definition.value_options)
    for records in fetch(definition.client, split, decoder.terminator):
        decoded = _decode(decoder, records, split)
        values = dict(zip(physical.names, decoded.columns, strict=True))
        columns = []
        for column in definition.table.stored:
            if column.metadata is None:
                columns.append(values[column.name])
            else:
                array = METADATA[column.metadata].read(records, split)
                target = schema.field(column.name).type
                columns.append((array if decoded.rows is None else array.take(decoded.rows)).cast(target))
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _decode(decoder: Decoder, records: Records, split: Split) -> Decoded:
    try:
        return decoder.decode(records.values)
    except DecodeError as e:
        raise e.at(split.at(int(records.offsets[e.row]))) from e
