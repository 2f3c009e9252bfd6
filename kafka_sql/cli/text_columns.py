"""Select the texts that spark-sql prints for the columns of a result, as ``HiveResult`` of Spark formats them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

_BINARY_STYLE: Final = "spark.sql.binaryOutputStyle"
_BINARY_STYLES: Final[dict[str, Callable[[Column], Column]]] = {
    "HEX": F.hex,
    "HEX_DISCRETE": lambda c: F.concat(F.lit("["), F.rtrim(F.regexp_replace(F.hex(c), "(..)", "$1 ")), F.lit("]")),
    "BASE64": lambda c: F.regexp_replace(F.base64(c), "=|\r\n", ""),
}
_EXPONENT_SCALE: Final = 6  # CAST writes a decimal of a larger scale with an exponent, unless in ANSI mode


def text_columns(frame: DataFrame) -> DataFrame:
    """Return the columns as strings, named by their numbers. BYTES stay bytes, unless the session has a style."""
    style = (frame.sparkSession.conf.get(_BINARY_STYLE, None) or "").upper()
    format_bytes: Callable[[Column], Column] = _BINARY_STYLES.get(style, lambda column: column)
    types = [field.dataType for field in frame.schema]
    names = [str(i) for i in range(len(types))]  # several columns may have the same name
    columns = [
        format_bytes(F.col(name)) if isinstance(type, T.BinaryType) else _text(F.col(name), type, format_bytes)
        for name, type in zip(names, types, strict=True)
    ]
    return frame.toDF(*names).select(*(column.alias(name) for column, name in zip(columns, names, strict=True)))


def _text(column: Column, type: T.DataType, format_bytes: Callable[[Column], Column]) -> Column:

    def nested(value: Column, value_type: T.DataType) -> Column:
        text = _text(value, value_type, format_bytes)
        if isinstance(value_type, (T.StringType, T.CharType, T.VarcharType)):
            text = F.concat(F.lit('"'), text, F.lit('"'))
        return F.coalesce(text, F.lit("null"))

    match type:
        case T.BinaryType():
            return format_bytes(column).cast("string")
        case T.DecimalType() if type.scale > _EXPONENT_SCALE:
            return F.call_function("format_number", column, F.lit("0." + "0" * type.scale))
        case T.YearMonthIntervalType():
            return _quoted_part(column.cast("interval year to month"))
        case T.DayTimeIntervalType():
            seconds = F.split(_quoted_part(column.cast("interval day to second")), r"\.")
            nanoseconds = F.rpad(F.coalesce(F.get(seconds, F.lit(1)), F.lit("")), 9, "0")
            return F.concat(F.get(seconds, F.lit(0)), F.lit("."), nanoseconds)
        case T.VariantType():
            return F.to_json(column)
        case T.ArrayType():
            return _join("[", F.transform(column, lambda value: nested(value, type.elementType)), "]")
        case T.MapType():
            entries = F.transform(
                F.map_entries(column),
                lambda e: F.concat(nested(e["key"], type.keyType), F.lit(":"), nested(e["value"], type.valueType)),
            )
            return _join("{", F.array_sort(entries), "}")
        case T.StructType():
            # by number, because several fields may have the same name
            numbered = column.cast(T.StructType([T.StructField(str(i), f.dataType) for i, f in enumerate(type)]))
            fields = [
                F.concat(F.lit(f'"{f.name}":'), nested(numbered.getField(str(i)), f.dataType))
                for i, f in enumerate(type)
            ]
            return F.when(column.isNotNull(), _join("{", F.array(*fields), "}"))
        case _:
            return column.cast("string")


def _join(start: str, texts: Column, end: str) -> Column:
    return F.concat(F.lit(start), F.array_join(texts, ","), F.lit(end))


def _quoted_part(interval: Column) -> Column:
    """Return the value of an interval without the keyword and the units: ``INTERVAL '1-2' YEAR TO MONTH``."""
    return F.regexp_extract(interval.cast("string"), "'(.*)'", 1)
