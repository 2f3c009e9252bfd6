"""Columns to payloads with a schema's id before them."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from kafka_sql.errors import MissingOptionError
from kafka_sql.formats.confluent.client import cached_registry
from kafka_sql.formats.confluent.options import RegistryOptions, registry_settings
from kafka_sql.formats.confluent.wire_format import encode_header
from kafka_sql.options import Options


class PayloadWriter(Protocol):
    """Writes payloads of one schema."""

    def write(self, batch: pa.RecordBatch, header: bytes = b"") -> pa.BinaryArray:
        """One payload a row, each with ``header`` before it.

        Raises:
            EncodeError: a value has no form in the schema.
        """
        ...


class WireFormatEncoder:
    """Encodes rows in Confluent's wire format. The schema is registered with the first row, not before."""

    def __init__(self, writer: PayloadWriter, text: str, known: RegistryOptions, options: Options) -> None:
        """
        Args:
            text: the schema.

        Raises:
            MissingOptionError: there is no subject.
            OptionError: the registry's settings are in error.
        """
        subject = options.get(known.subject)
        if subject is None:
            raise MissingOptionError(
                f"Option {known.subject.key} is required for serialization, where the table has not one topic. "
                f"{known.subject.doc}",
                option=known.subject.key,
            )
        self._writer, self._subject, self._text = writer, subject, text
        found = registry_settings(known, options)
        self._registry = cached_registry(found)
        self._id = self._registry.register if found.register else self._registry.look_up_id

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """One payload a row.

        Raises:
            EncodeError: a value has no form in the schema.
            SchemaRegistryError: the registry refuses the schema or does not answer.
        """
        if not batch.num_rows:
            return pa.array([], pa.binary())
        return self._writer.write(batch, encode_header(self._id(self._subject, self._text)))

    def check_compatible(self) -> str:
        """Whether the registry would take the schema, in words; nothing is registered.

        Raises:
            IncompatibleSchemaError: it would not.
            SchemaRegistryError: it does not answer, or refuses the credentials.
        """
        return self._registry.check_compatibility(self._subject, self._text)
