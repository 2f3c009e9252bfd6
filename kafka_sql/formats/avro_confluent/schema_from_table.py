"""Return the Avro schema of a table: from its options, or derived from its columns."""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.errors import SchemaError
from kafka_sql.formats.avro.schema import parse_schema
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.formats.confluent.options import RegistryOptions
from kafka_sql.options import Options


def table_schema(schema: pa.Schema, registry_options: RegistryOptions, options: Options) -> str:
    """Return the schema's JSON text.

    Raises:
        SchemaError: Avro has no type for a column, or the schema in the options is invalid or has other fields.
    """
    option = registry_options.schema
    text = options.get(option)
    if text is None:
        return derive_schema(schema, legacy=True, lenient=True)
    try:
        avro = parse_schema(text)
    except ValueError as e:
        raise SchemaError(f"The Avro schema of option '{option.key}' {e}.") from e
    record = avro.find_record()
    names = [field.name for field in record.fields] if record is not None else []
    if names != schema.names:
        raise SchemaError(
            f"Schema provided for '{registry_options.format}' format (option '{option.key}') does not match the table "
            f"schema: it has the fields [{', '.join(names)}], expected [{', '.join(schema.names)}]."
        )
    return text
