"""Check that the json format supports the types of columns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import SchemaError
from kafka_sql.formats.columnar.scalar_types import is_scalar


def check_schema(schema: pa.Schema) -> None:
    """Reject columns of types that the json format does not support.

    Raises:
        SchemaError: with the column, or the path inside a nested one.
    """
    for field in schema:
        _check(field.name, field.type)


def _check(path: str, arrow_type: pa.DataType) -> None:
    if pt.is_list(arrow_type):
        _check(f"{path}[]", arrow_type.value_type)
    elif pt.is_struct(arrow_type):
        for field in arrow_type:
            _check(f"{path}.{field.name}", field.type)
    elif pt.is_map(arrow_type):
        if not pt.is_string(arrow_type.key_type):
            raise SchemaError(
                "JSON format doesn't support non-string as key type of map. "
                f"The type of column '{path}' is: {arrow_type}. Declare it as MAP<STRING, ...>.",
                column=path,
            )
        _check(f"{path}[]", arrow_type.item_type)
    elif not is_scalar(arrow_type):
        raise SchemaError(
            f"Unsupported type of column '{path}': the json format does not support {arrow_type}.", column=path
        )
