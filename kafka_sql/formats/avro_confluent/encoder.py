"""Columns to payloads with a schema's id before them."""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.errors import MissingOptionError
from kafka_sql.formats.avro.encoder import Writer
from kafka_sql.formats.avro.schema import parse
from kafka_sql.formats.avro_confluent.client import registry
from kafka_sql.formats.avro_confluent.framing import header
from kafka_sql.formats.avro_confluent.options import SUBJECT, settings
from kafka_sql.formats.avro_confluent.tables import table_schema
from kafka_sql.options import Options


class ConfluentEncoder:
    """Encodes rows in Confluent's wire format. The schema is registered with the first row, not before."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            MissingOptionError: there is no subject.
            SchemaError: a column has no form in Avro, or the given schema does not fit the columns.
            OptionError: the registry's settings are in error.
        """
        subject = options.get(SUBJECT)
        if subject is None:
            raise MissingOptionError(
                f"Option {SUBJECT.key} is required for serialization, where the table has not one topic. {SUBJECT.doc}"
            )
        self._subject, self._text = subject, table_schema(schema, options)
        self._writer = Writer(schema, parse(self._text))
        found = settings(options)
        self._registry = registry(found)
        self._id = self._registry.register if found.register else self._registry.look_up

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """One payload a row.

        Raises:
            EncodeError: a value has no form in the schema.
            SchemaRegistryError: the registry refuses the schema or does not answer.
        """
        if not batch.num_rows:
            return pa.array([], pa.binary())
        return self._writer.write(batch, header(self._id(self._subject, self._text)))
