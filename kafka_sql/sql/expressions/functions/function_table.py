"""Look up functions by name; unsupported ones are rejected with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.sql.expressions.functions import collections, conditional, datetime, math, regex, strings
from kafka_sql.sql.expressions.functions.signature import Function
from kafka_sql.sql.expressions.typed import TypedExpression, UntranslatableError
from kafka_sql.suggestions import did_you_mean

_TRANSLATIONS: Final[dict[str, Function]] = {
    **conditional.FUNCTIONS,
    **collections.FUNCTIONS,
    **math.FUNCTIONS,
    **regex.FUNCTIONS,
    **strings.FUNCTIONS,
    **datetime.FUNCTIONS,
}
_INEXACT = "is not supported: the last digit may differ in Spark. Compute it in the query"
_JSON = (
    "is not supported: Spark parses paths, numbers and invalid JSON differently. Declare the column as ROW with the "
    "format json, or use get_json_object in the query"
)
_CLOCK = "is not supported: Spark's current time is fixed during a batch. Use CURRENT_TIMESTAMP"
_UNSUPPORTED: Final[dict[str, str]] = {
    **dict.fromkeys(
        [
            "ACOS",
            "ASIN",
            "ATAN",
            "ATAN2",
            "COS",
            "COSH",
            "COT",
            "EXP",
            "LN",
            "LOG",
            "LOG10",
            "LOG2",
            "POWER",
            "SIN",
            "SINH",
            "SQRT",
            "TAN",
            "TANH",
        ],
        _INEXACT,
    ),
    **dict.fromkeys(["RAND", "RAND_INTEGER"], "is not supported: the same seed returns different numbers in Spark"),
    **dict.fromkeys(["JSON_VALUE", "JSON_QUERY", "JSON_EXISTS", "JSON_OBJECT", "JSON_ARRAY", "JSON_STRING"], _JSON),
    **dict.fromkeys(["JSON_QUOTE", "JSON_UNQUOTE", "IS JSON"], _JSON),
    "CURRENT_ROW_TIMESTAMP": _CLOCK,
    "CURRENT_WATERMARK": "is not supported: Spark expressions cannot access the watermark",
    "CURRENT_TIME": "is not supported: Flink truncates it to seconds. Use LOCALTIMESTAMP",
    "LOCALTIME": "is not supported: Flink truncates it to seconds. Use LOCALTIMESTAMP",
    "INITCAP": "is not supported: Spark has different word boundaries",
    "ASCII": "is not supported: it is the first byte in Flink, but the first character in Spark",
    "CHR": "is not supported: numbers above 255 return different characters in Spark",
    "FROM_BASE64": "is not supported: invalid Base64 returns different results in Spark",
    "TO_DATE": "is not supported: Flink normalizes dates that do not exist. CAST the string AS DATE",
    "UNIX_TIMESTAMP": "is not supported: Flink returns a number for invalid timestamps. Use TIMESTAMPDIFF(SECOND, ...)",
    "CONVERT_TZ": "is not supported: Flink parses invalid timestamps differently. Use TIMESTAMP_LTZ",
}


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
    raise UntranslatableError(f"function {name} is not supported.{did_you_mean(name, _TRANSLATIONS)}".rstrip("."))
