"""Flink's types in Spark's words."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_sql.catalog.sql_literals import quote, string
from kafka_sql.errors import SchemaError, did_you_mean

INTEGERS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}  # and the digits that Spark's decimals give each
STRINGS = ("STRING", "VARCHAR", "CHAR")
BINARIES = ("BYTES", "VARBINARY", "BINARY")
SYNONYMS = {"DEC": "DECIMAL", "NUMERIC": "DECIMAL", "INTEGER": "INT", "CHARACTER": "CHAR"}
DEFAULT_PRECISION = {"TIMESTAMP": 6, "TIMESTAMP_LTZ": 6, "TIME": 0}  # Flink's

_SAME = (*INTEGERS, "BOOLEAN", "FLOAT", "DOUBLE", "DATE")
_TIMES = {"TIMESTAMP": "TIMESTAMP_NTZ", "TIMESTAMP_LTZ": "TIMESTAMP"}
_REFUSED = {  # what Flink knows and a Spark table cannot carry
    "TIMESTAMP WITH TIME ZONE": "Spark keeps no zone in a value; use TIMESTAMP_LTZ(p)",
    "INTERVAL": "no format writes intervals; use a number of units",
    "RAW": "it is a Java class inside Flink; use BYTES",
    "STRUCTURED": "it is a Java class inside Flink; use ROW<...>",
    "SYMBOL": "it exists in Flink's planner only",
    "DESCRIPTOR": "it exists in Flink's planner only",
    "NULL": "a column needs values",
    "VARIANT": "no format here writes it; use STRING",
    "BITMAP": "Spark has no such type; use BYTES",
}
KNOWN_TYPES = (*_SAME, *_TIMES, "TIME", "DECIMAL", *STRINGS, *BINARIES, "ARRAY", "MAP", "MULTISET", "ROW", *SYNONYMS)


@dataclass(frozen=True)
class Field:
    """One field of a ROW."""

    name: str
    type: FlinkType
    comment: str | None = None


@dataclass(frozen=True)
class FlinkType:
    """A type as it was parsed.

    Attributes:
        name: upper case, synonyms resolved; whatever was typed where Flink has no such type.
        sizes: length, precision and scale as far as given.
        elements: of ARRAY and MULTISET the element, of MAP key and value.
        fields: of ROW.
        nullable: False after NOT NULL.
        text: the source text without the outermost [NOT] NULL.
    """

    name: str
    sizes: tuple[int, ...] = ()
    elements: tuple[FlinkType, ...] = ()
    fields: tuple[Field, ...] = ()
    nullable: bool = True
    text: str = field(default="", compare=False)

    @property
    def precision(self) -> int:
        """Digits of the second's fraction (TIME, TIMESTAMP and TIMESTAMP_LTZ)."""
        return self.sizes[0] if self.sizes else DEFAULT_PRECISION[self.name]

    @property
    def decimal(self) -> tuple[int, int]:
        """Precision and scale of a DECIMAL."""
        precision, scale = (*self.sizes, 0)[:2] if self.sizes else (10, 0)
        return precision, scale


def to_spark_type(type: FlinkType, column: str) -> str:
    """The Spark SQL text of a type, without the outermost NOT NULL, which is the column's.

    Args:
        column: path of the column, for errors (``a.b`` is the field b of column a).

    Raises:
        SchemaError: Spark cannot carry the type, or there is no such type.
    """
    name = type.name
    if name in STRINGS:
        return "STRING"
    if name in BINARIES:
        return "BINARY"
    if name in _SAME:
        return name
    if name == "DECIMAL":
        return _decimal(type, column)
    if name in DEFAULT_PRECISION:
        _check_precision(type, column)
        return _TIMES.get(name) or f"TIME({type.precision})"
    if name == "ROW":
        return _row(type, column)
    if name in ("ARRAY", "MAP"):
        return f"{name}<{', '.join(to_spark_type(e, column) for e in type.elements)}>"
    if name == "MULTISET":
        return f"MAP<{to_spark_type(type.elements[0], column)}, INT>"
    if name in _REFUSED:
        raise SchemaError(f"Column '{column}': type {type.text or name} cannot be carried: {_REFUSED[name]}.")
    raise SchemaError(f"Column '{column}': unknown type '{type.text or name}'.{did_you_mean(name, KNOWN_TYPES)}")


def _decimal(type: FlinkType, column: str) -> str:
    precision, scale = type.decimal
    if not 1 <= precision <= 38:
        raise SchemaError(f"Column '{column}': {type.text}: the precision of DECIMAL must be between 1 and 38.")
    if not 0 <= scale <= precision:
        raise SchemaError(
            f"Column '{column}': {type.text}: the scale of DECIMAL must be between 0 and the precision {precision}."
        )
    return f"DECIMAL({precision},{scale})"


def _check_precision(type: FlinkType, column: str) -> None:
    if type.precision > 9:
        raise SchemaError(f"Column '{column}': {type.text}: the precision of {type.name} must be between 0 and 9.")
    if type.precision > 6:
        raise SchemaError(
            f"Column '{column}': {type.text} cannot be carried: Spark keeps microseconds, which is precision 6. "
            f"Declare {type.name}(6) or less."
        )


def _row(type: FlinkType, column: str) -> str:
    seen: set[str] = set()
    parts = []
    for f in type.fields:
        if f.name.lower() in seen:
            raise SchemaError(f"Column '{column}': the ROW has more than one field '{f.name}' (Spark ignores case).")
        seen.add(f.name.lower())
        part = f"{quote(f.name)}: {to_spark_type(f.type, f'{column}.{f.name}')}"
        part += "" if f.type.nullable else " NOT NULL"
        parts.append(part + (f" COMMENT {string(f.comment)}" if f.comment is not None else ""))
    return f"STRUCT<{', '.join(parts)}>"
