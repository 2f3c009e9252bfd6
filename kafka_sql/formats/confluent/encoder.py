"""Encode rows in Confluent's wire format."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa

from kafka_sql.errors import MissingOptionError
from kafka_sql.formats.confluent.client import cached_registry
from kafka_sql.formats.confluent.options import RegistryOptions, registry_settings
from kafka_sql.formats.confluent.wire_format import encode_header
from kafka_sql.options import Options

# Returns a payload per row, each after a header. Raises EncodeError if a value does not fit the schema.
Encode: TypeAlias = Callable[[pa.RecordBatch, bytes], pa.BinaryArray]


class WireFormatEncoder:
    """Encodes rows in Confluent's wire format. Registers the schema when the first row is encoded.

    Attributes:
        text: the schema.
    """

    def __init__(
        self, encode: Encode, text: str, registry_options: RegistryOptions, options: Options, indexes: bytes = b""
    ) -> None:
        """
        Args:
            text: the schema.
            indexes: what follows the schema's id in the header.

        Raises:
            MissingOptionError: there is no subject.
            OptionError: the registry's settings are invalid.
        """
        subject = options.get(registry_options.subject)
        if subject is None:
            raise MissingOptionError(
                f"Option {registry_options.subject.key} is required for serialization if the table does not have "
                f"exactly one topic. {registry_options.subject.doc}",
                option=registry_options.subject.key,
            )
        self._encode, self._subject, self.text, self._indexes = encode, subject, text, indexes
        settings = registry_settings(registry_options, options)
        self._registry = cached_registry(settings)
        self._schema_id = self._registry.register if settings.register else self._registry.look_up_id

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row.

        Raises:
            EncodeError: a value does not fit the schema.
            SchemaRegistryError: the registry rejects the schema, or is unavailable.
        """
        if not batch.num_rows:
            return pa.array([], pa.binary())
        return self._encode(batch, self.header())

    def header(self) -> bytes:
        """Return what precedes each payload, after registering the schema.

        Raises:
            SchemaRegistryError: the registry rejects the schema, or is unavailable.
        """
        return encode_header(self._schema_id(self._subject, self.text)) + self._indexes

    def check_compatible(self) -> str:
        """Check that the registry would accept the schema, without registering it; return a sentence that says so.

        Raises:
            IncompatibleSchemaError: the registry would reject the schema.
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        return self._registry.check_compatibility(self._subject, self.text)
