"""Look up functions by name; unsupported ones are rejected with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.sql.expressions import conditions
from kafka_sql.sql.expressions.functions import (
    arrays,
    collections,
    date_texts,
    datetime,
    json,
    maps,
    math,
    regex,
    strings,
)
from kafka_sql.sql.expressions.functions.signature import Function
from kafka_sql.sql.expressions.typed import TypedExpression, UntranslatableError
from kafka_sql.suggestions import did_you_mean

_TRANSLATIONS: Final[dict[str, Function]] = {
    **conditions.FUNCTIONS,
    **collections.FUNCTIONS,
    **arrays.FUNCTIONS,
    **maps.FUNCTIONS,
    **math.FUNCTIONS,
    **json.FUNCTIONS,
    **regex.FUNCTIONS,
    **strings.FUNCTIONS,
    **date_texts.FUNCTIONS,
    **datetime.FUNCTIONS,
}
# functions with keywords between their arguments have nodes of their own
_WITH_KEYWORDS: Final = ("JSON_VALUE", "JSON_QUERY", "JSON_EXISTS", "JSON_OBJECT", "JSON_ARRAY")
_CLOCK = "is not supported: Spark's current time is fixed during a batch. Use CURRENT_TIMESTAMP"
_VARIANT = "is not supported: a table has no columns of its type. Use it in the query"
_UNSUPPORTED: Final[dict[str, str]] = {
    **dict.fromkeys(["PARSE_JSON", "TRY_PARSE_JSON", "OBJECT_OF", "OBJECT_UPDATE"], _VARIANT),
    "TYPEOF": "is not supported: Spark's types have other names",
    **dict.fromkeys(["RAND", "RAND_INTEGER"], "is not supported: the same seed returns different numbers in Spark"),
    "JSON": "is supported only as an argument of JSON_OBJECT and JSON_ARRAY, as in Flink",
    "CURRENT_ROW_TIMESTAMP": _CLOCK,
    "CURRENT_WATERMARK": "is not supported: Spark expressions cannot access the watermark",
    "CURRENT_TIME": "is not supported: Flink truncates it to seconds. Use LOCALTIMESTAMP",
    "LOCALTIME": "is not supported: Flink truncates it to seconds. Use LOCALTIMESTAMP",
}


def is_flink_function(name: str) -> bool:
    """Return whether a name in upper case is a function of Flink's, supported or not."""
    return name in _TRANSLATIONS or name in _UNSUPPORTED


def translate_call(name: str, arguments: Sequence[TypedExpression]) -> TypedExpression:
    """Translate a function call.

    Raises:
        UntranslatableError: the function is not supported, or not with these arguments.
    """
    function = _TRANSLATIONS.get(name)
    if function is not None:
        return function(arguments)
    if name in _UNSUPPORTED:
        raise UntranslatableError(f"function {name} {_UNSUPPORTED[name]}")
    raise UntranslatableError(
        f"function {name} is not supported.{did_you_mean(name, (*_TRANSLATIONS, *_WITH_KEYWORDS))}".rstrip(".")
    )
