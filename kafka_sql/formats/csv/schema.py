"""Check that the csv format supports the types of columns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import SchemaError
from kafka_sql.formats.columnar.scalar_types import is_scalar


def check_schema(schema: pa.Schema) -> None:
    """Reject columns of types that the csv format does not support (CsvRowSchemaConverter).

    Raises:
        SchemaError: with the column.
    """
    for field in schema:
        arrow_type = field.type
        if is_scalar(arrow_type):
            continue
        if not pt.is_list(arrow_type) and not pt.is_struct(arrow_type):
            raise SchemaError(
                f"Unsupported type '{arrow_type}' for field '{field.name}': the csv format does not support it.",
                column=field.name,
            )
        for element in [arrow_type.value_type] if pt.is_list(arrow_type) else [child.type for child in arrow_type]:
            if not is_scalar(element):
                raise SchemaError(
                    f"Only simple types are supported in the second level nesting of fields '{field.name}' but was: "
                    f"{element}. The csv format has one level of ARRAY or ROW.",
                    column=field.name,
                )
