"""Define the options of the raw format, and the check of its only column."""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import SchemaError
from kafka_sql.formats.java.charset import Charset
from kafka_sql.options import Option, Options, enum

BIG_ENDIAN: Final = "big-endian"
CHARSET: Final = Option(
    "raw.charset",
    Charset.from_java_name,
    "String",
    "Character set of a STRING column, such as 'UTF-8', 'ISO-8859-1' or 'GBK'.",
    default="UTF-8",
)
ENDIANNESS: Final = enum(
    "raw.endianness",
    "Byte order of numbers.",
    allowed=(BIG_ENDIAN, "little-endian"),
    default=BIG_ENDIAN,
)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def _parse_delimiter(text: str) -> str:
    """Return a delimiter without Java's escape sequences."""
    delimiter = re.sub(
        r"\\(?:u+([0-9A-Fa-f]{4})|(.))",
        lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPES.get(match[2], match[2]),
        text,
        flags=re.DOTALL,
    )
    if not delimiter:
        raise ValueError("expected at least one character, such as '\\n'")
    return delimiter


LINE_DELIMITER: Final = Option(
    "raw.line-delimiter",
    _parse_delimiter,
    "String",
    "Delimiter of the lines of a payload, such as '\\n'. Each line is a row, and a payload that is written ends with "
    "the delimiter. Requires a STRING column.",
)
RAW_OPTIONS: Final[tuple[Option[Any], ...]] = (CHARSET, ENDIANNESS, LINE_DELIMITER)

SQL_NAMES: Final = {  # of types of fixed length
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
}


def single_field(schema: pa.Schema, options: Options) -> pa.Field:
    """Return the only column.

    Raises:
        SchemaError: there is not exactly one column, or the format does not support its type.
    """
    if len(schema) != 1:
        columns = ", ".join(f"'{field.name}' {field.type}" for field in schema)
        raise SchemaError(
            "The 'raw' format only supports single physical column. However the defined schema contains "
            f"{'multiple' if len(schema) else 'no'} physical columns: [{columns}]"
        )
    field = schema.field(0)
    arrow_type = field.type
    is_text = pt.is_string(arrow_type) or pt.is_large_string(arrow_type)
    if options.get(LINE_DELIMITER) is not None and not is_text:
        raise SchemaError(
            f"Option '{options.key(LINE_DELIMITER)}' requires a STRING column, but column '{field.name}' is "
            f"'{arrow_type}'. Remove the option, or declare the column as STRING.",
            column=field.name,
        )
    if arrow_type in SQL_NAMES or is_text or pt.is_binary(arrow_type) or pt.is_large_binary(arrow_type):
        return field
    raise SchemaError(
        f"The 'raw' format doesn't support '{arrow_type}' as type of column '{field.name}'. "
        f"Supported types are STRING, BYTES, {', '.join(SQL_NAMES.values())}.",
        column=field.name,
    )
