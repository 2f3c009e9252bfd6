"""The Avro schema of a table: the one that its options give, or the one that its columns make."""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.errors import SchemaError
from kafka_sql.formats.avro.schema import parse_schema
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.formats.confluent.options import RegistryOptions
from kafka_sql.options import Options


def table_schema(schema: pa.Schema, known: RegistryOptions, options: Options) -> str:
    """The schema's text.

    Raises:
        SchemaError: a column has no form in Avro, or the given schema is none or has other fields than the table.
    """
    given = options.get(known.schema)
    if given is None:
        return derive_schema(schema, legacy=True, lenient=True)
    try:
        found = parse_schema(given)
    except ValueError as e:
        raise SchemaError(f"The Avro schema of option '{known.schema.key}' {e}.") from e
    record = found.find_record()
    names = [field.name for field in record.fields] if record is not None else []
    if names != schema.names:
        raise SchemaError(
            f"Schema provided for '{known.format}' format (option '{known.schema.key}') does not match the table "
            f"schema: it has the fields [{', '.join(names)}], expected [{', '.join(schema.names)}]."
        )
    return given
