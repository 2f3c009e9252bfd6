"""Translate Flink types to Spark SQL types."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_sql.catalog.sql_literals import quote, string_literal
from kafka_sql.errors import SchemaError
from kafka_sql.suggestions import did_you_mean

INTEGERS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}  # with the precision of Spark's decimal for each
STRINGS = ("STRING", "VARCHAR", "CHAR")
BINARIES = ("BYTES", "VARBINARY", "BINARY")
SYNONYMS = {"DEC": "DECIMAL", "NUMERIC": "DECIMAL", "INTEGER": "INT", "CHARACTER": "CHAR"}
SPARK_NAMES = {  # types that only Spark names this way
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "LONG": "BIGINT",
    "REAL": "FLOAT",
    "TIMESTAMP_NTZ": "TIMESTAMP",
    "STRUCT": "ROW",
}
SPARK_PRECISION = 6  # fractional second digits of Spark's types
DEFAULT_PRECISION = {"TIMESTAMP": 6, "TIMESTAMP_LTZ": 6, "TIME": 0}  # Flink's

SAME_IN_SPARK = (*INTEGERS, "BOOLEAN", "FLOAT", "DOUBLE", "DATE")
# Spark's types have microseconds. Its TIME(p) accepts only values of the same or a lower precision, and a literal and
# current_time() have 6.
_SPARK_TIMES = {"TIMESTAMP": "TIMESTAMP_NTZ", "TIMESTAMP_LTZ": "TIMESTAMP_LTZ", "TIME": "TIME(6)"}
_UNSUPPORTED = {  # types that Flink has and a Spark table cannot have
    "TIMESTAMP WITH TIME ZONE": "Spark values have no time zone. Use TIMESTAMP_LTZ(p)",
    "INTERVAL": "no format can write intervals. Use a numeric type",
    "RAW": "it is a Java class inside Flink. Use BYTES",
    "STRUCTURED": "it is a Java class inside Flink. Use ROW<...>",
    "SYMBOL": "it exists only in Flink's planner",
    "DESCRIPTOR": "it exists only in Flink's planner",
    "NULL": "a column of this type has no values",
    "VOID": "a column of this type has no values",
    "VARIANT": "no format can write it. Use STRING",
    "BITMAP": "Spark has no such type. Use BYTES",
}
KNOWN_TYPES = (
    *SAME_IN_SPARK,
    *_SPARK_TIMES,
    "DECIMAL",
    *STRINGS,
    *BINARIES,
    "ARRAY",
    "MAP",
    "MULTISET",
    "ROW",
    *SYNONYMS,
    *SPARK_NAMES,
)


@dataclass(frozen=True)
class Field:
    """A field of a ROW."""

    name: str
    type: FlinkType
    comment: str | None = None


@dataclass(frozen=True)
class FlinkType:
    """A parsed type."""

    name: str  # Flink's name in upper case, with synonyms and Spark's names resolved; as written if the type is unknown
    sizes: tuple[int, ...] = ()  # length, or precision and scale, as far as specified
    elements: tuple[FlinkType, ...] = ()  # the element type of ARRAY and MULTISET, or the key and value types of MAP
    fields: tuple[Field, ...] = ()  # the fields of ROW
    nullable: bool = True  # False if NOT NULL
    # the source text without the outermost [NOT] NULL; in Flink's syntax if the source used Spark's
    text: str = field(default="", compare=False)

    @property
    def precision(self) -> int:
        """Fractional second digits of a TIME, TIMESTAMP or TIMESTAMP_LTZ."""
        return self.sizes[0] if self.sizes else DEFAULT_PRECISION[self.name]

    @property
    def decimal(self) -> tuple[int, int]:
        """Precision and scale of a DECIMAL."""
        precision, scale = (*self.sizes, 0)[:2] if self.sizes else (10, 0)
        return precision, scale


def to_flink_type(type: FlinkType) -> str:
    """Return the Flink SQL text of a type, without the outermost NOT NULL, which belongs to the column."""
    if type.name == "ROW":
        return f"ROW<{', '.join(map(_to_flink_field, type.fields))}>"
    if type.elements:
        return f"{type.name}<{', '.join(to_flink_type(e) + _not_null(e) for e in type.elements)}>"
    return type.name + (f"({', '.join(map(str, type.sizes))})" if type.sizes else "")


def _to_flink_field(f: Field) -> str:
    comment = "" if f.comment is None else " '" + f.comment.replace("'", "''") + "'"
    return f"{quote(f.name)} {to_flink_type(f.type)}{_not_null(f.type)}{comment}"


def _not_null(type: FlinkType) -> str:
    return "" if type.nullable else " NOT NULL"


def to_spark_type(type: FlinkType, column: str) -> str:
    """Return the Spark SQL text of a type, without the outermost NOT NULL, which belongs to the column.

    Args:
        column: path of the column for error messages (``a.b`` is the field b of column a).

    Raises:
        SchemaError: the type is unknown or not supported.
    """
    name = type.name
    if name in STRINGS:
        return "STRING"
    if name in BINARIES:
        return "BINARY"
    if name in SAME_IN_SPARK:
        return name
    if name == "DECIMAL":
        return _to_spark_decimal(type, column)
    if name in DEFAULT_PRECISION:
        _check_precision(type, column)
        return _SPARK_TIMES[name]
    if name == "ROW":
        return _to_spark_struct(type, column)
    if name in ("ARRAY", "MAP"):
        return f"{name}<{', '.join(to_spark_type(e, column) for e in type.elements)}>"
    if name == "MULTISET":
        return f"MAP<{to_spark_type(type.elements[0], column)}, INT>"
    if name in _UNSUPPORTED:
        raise SchemaError(
            f"Column '{column}': type {type.text or name} is not supported: {_UNSUPPORTED[name]}.", column=column
        )
    raise SchemaError(
        f"Column '{column}': unknown type '{type.text or name}'.{did_you_mean(name, KNOWN_TYPES)}", column=column
    )


def _to_spark_decimal(type: FlinkType, column: str) -> str:
    precision, scale = type.decimal
    if not 1 <= precision <= 38:
        raise SchemaError(
            f"Column '{column}': {type.text}: the precision of DECIMAL must be between 1 and 38.", column=column
        )
    if not 0 <= scale <= precision:
        raise SchemaError(
            f"Column '{column}': {type.text}: the scale of DECIMAL must be between 0 and the precision {precision}.",
            column=column,
        )
    return f"DECIMAL({precision},{scale})"


def _check_precision(type: FlinkType, column: str) -> None:
    if type.precision > 9:
        raise SchemaError(
            f"Column '{column}': {type.text}: the precision of {type.name} must be between 0 and 9.", column=column
        )
    if type.precision > SPARK_PRECISION and type.name == "TIME":
        raise SchemaError(
            f"Column '{column}': {type.text} is not supported: Spark has microseconds, which is precision 6. "
            f"Declare {type.name}(6) or less.",
            column=column,
        )


def _to_spark_struct(type: FlinkType, column: str) -> str:
    names: set[str] = set()
    parts = []
    for f in type.fields:
        if f.name.lower() in names:
            raise SchemaError(
                f"Column '{column}': the ROW has more than one field '{f.name}' (case is ignored, as in Spark).",
                column=column,
            )
        names.add(f.name.lower())
        part = f"{quote(f.name)}: {to_spark_type(f.type, f'{column}.{f.name}')}"
        part += "" if f.type.nullable else " NOT NULL"
        parts.append(part + (f" COMMENT {string_literal(f.comment)}" if f.comment is not None else ""))
    return f"STRUCT<{', '.join(parts)}>"
