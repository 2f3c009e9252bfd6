"""Which columns the json format can carry."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import SchemaError

_SCALARS: tuple[Callable[[pa.DataType], bool], ...] = (
    pt.is_boolean,
    pt.is_signed_integer,
    pt.is_float32,
    pt.is_float64,
    pt.is_decimal128,
    pt.is_string,
    pt.is_large_string,
    pt.is_binary,
    pt.is_large_binary,
    pt.is_date32,
    lambda t: pt.is_time64(t) and t.unit == "ns",
    lambda t: pt.is_timestamp(t) and t.unit == "us",
)


def is_scalar(t: pa.DataType) -> bool:
    """Whether a type is one of Flink's that are not nested, as Spark carries them."""
    return any(carries(t) for carries in _SCALARS)


def check_schema(schema: pa.Schema) -> None:
    """Refuse columns that have no form in JSON.

    Raises:
        SchemaError: names the column, and for a nested one its path.
    """
    for field in schema:
        _check(field.name, field.type)


def _check(path: str, t: pa.DataType) -> None:
    if pt.is_list(t):
        _check(f"{path}[]", t.value_type)
    elif pt.is_struct(t):
        for field in t:
            _check(f"{path}.{field.name}", field.type)
    elif pt.is_map(t):
        if not pt.is_string(t.key_type):
            raise SchemaError(
                "JSON format doesn't support non-string as key type of map. "
                f"The type of column '{path}' is: {t}. Declare it as MAP<STRING, ...>."
            )
        _check(f"{path}[]", t.item_type)
    elif not is_scalar(t):
        raise SchemaError(f"Unsupported type of column '{path}': the json format cannot carry {t}.")
