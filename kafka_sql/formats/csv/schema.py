"""Which columns the csv format can carry."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import SchemaError
from kafka_sql.formats.json.schema import is_scalar


def check_schema(schema: pa.Schema) -> None:
    """Refuse columns that have no form in CSV (CsvRowSchemaConverter).

    Raises:
        SchemaError: names the column.
    """
    for field in schema:
        t = field.type
        if is_scalar(t):
            continue
        if not pt.is_list(t) and not pt.is_struct(t):
            raise SchemaError(f"Unsupported type '{t}' for field '{field.name}': the csv format cannot carry it.")
        inner = [t.value_type] if pt.is_list(t) else [child.type for child in t]
        for kind in inner:
            if not is_scalar(kind):
                raise SchemaError(
                    f"Only simple types are supported in the second level nesting of fields '{field.name}' but was: "
                    f"{kind}. The csv format has one level of ARRAY or ROW."
                )
