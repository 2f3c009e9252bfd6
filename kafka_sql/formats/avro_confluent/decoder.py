"""Decode Avro records in Confluent's wire format."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from kafka_sql.errors import IncompatibleSchemaError, SchemaNotFoundError
from kafka_sql.formats.avro.decode_plan import SchemaMismatch
from kafka_sql.formats.avro.decoder import AvroReader
from kafka_sql.formats.avro.resolution import resolve_schemas
from kafka_sql.formats.avro.schema import AvroType, parse_schema
from kafka_sql.formats.columnar.binary_reader import Bytes, Indices
from kafka_sql.formats.confluent.decoder import Group, WireFormatDecoder
from kafka_sql.formats.confluent.options import RegistryOptions
from kafka_sql.formats.confluent.schemas import RegisteredSchema
from kafka_sql.formats.confluent.wire_format import HEADER_SIZE, SchemaIds, group_by_id
from kafka_sql.options import Options


class AvroConfluentDecoder(WireFormatDecoder):
    """Decodes records, each with the schema that it was written with; skips null payloads."""

    def __init__(
        self,
        schema: pa.Schema,
        avro: AvroType,
        registry_options: RegistryOptions,
        options: Options,
        metadata: tuple[str, ...] = (),
    ) -> None:
        """
        Args:
            avro: the reader's schema, whose fields are the columns.
            metadata: which of ``schema-id`` and ``subject`` to provide besides the columns.

        Raises:
            OptionError: the registry's settings are invalid.
        """
        super().__init__(schema, registry_options, options, metadata)
        self._avro = avro
        self._readers: dict[int, AvroReader | str] = {}  # by schema id; or why the schema cannot be read

    def group(self, data: Bytes, starts: Indices, ends: Indices, ids: SchemaIds) -> Iterator[Group]:
        """Yield the payloads of each schema."""
        for schema_id, positions in group_by_id(ids):
            yield Group((schema_id,), positions, starts[positions])

    def find_reader(self, schema_id: int) -> AvroReader | str:
        """Return the reader of a schema, or why the schema cannot be read."""
        if schema_id not in self._readers:
            self._readers[schema_id] = self.read_schema(schema_id, self._create_reader)
        return self._readers[schema_id]

    def _create_reader(self, registered: RegisteredSchema) -> AvroReader:
        writer = parse_schema(registered.text, registered.reference_texts)
        try:
            return AvroReader(resolve_schemas(writer, self._avro, self._schema), HEADER_SIZE)
        except SchemaMismatch as e:
            raise ValueError(f"cannot be read as the table's columns: {e}") from e

    def check_readable(self) -> str:
        """Check that the subject's latest schema can be read as the columns; return a sentence that says so.

        Raises:
            IncompatibleSchemaError: the latest schema cannot be read as the columns.
            SchemaRegistryError: the registry is unavailable, or rejects the credentials.
        """
        if self._subject is None:
            return "the table has no single subject; each record names its own schema"
        try:
            latest = self.registry.latest_schema(self._subject)
        except SchemaNotFoundError:
            return f"subject '{self._subject}' has no schema yet"
        description = f"the latest schema of subject '{self._subject}' (id {latest.schema_id})"
        try:
            self._create_reader(latest)
        except ValueError as e:
            raise IncompatibleSchemaError(
                f"{description[0].upper()}{description[1:]} {e}.", subject=self._subject, schema_id=latest.schema_id
            ) from e
        return f"{description} has the table's columns"
