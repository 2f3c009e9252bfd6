"""Encode JSON documents in Confluent's wire format."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.formats.confluent.encoder import Encode, WireFormatEncoder
from kafka_sql.formats.json.encoder import JsonEncoder
from kafka_sql.formats.json.options import to_json_options
from kafka_sql.formats.json_confluent.options import REGISTRY, RENAMED_JSON_OPTIONS
from kafka_sql.formats.json_confluent.schema_from_table import table_schema
from kafka_sql.options import Options


def create_encoder(schema: pa.Schema, options: Options) -> WireFormatEncoder:
    """Return an encoder of documents.

    Raises:
        MissingOptionError: there is no subject.
        SchemaError: JSON cannot represent a column, or the schema in the options does not match the columns.
        OptionError: the registry's settings are invalid.
    """
    write = create_writer(schema, options)
    return WireFormatEncoder(write, table_schema(schema, REGISTRY, options), REGISTRY, options)


def create_writer(schema: pa.Schema, options: Options) -> Encode:
    """Return a function that encodes rows as JSON objects, each after a header."""
    encoder = JsonEncoder(schema, to_json_options(RENAMED_JSON_OPTIONS, options))
    return lambda batch, header: pc.binary_join_element_wise(header, encoder.encode(batch), b"")
