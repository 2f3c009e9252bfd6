"""Every function by its name: translated, or refused with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.errors import did_you_mean
from kafka_sql.sql.expressions.functions import collections, conditional, datetime, math, regex, strings
from kafka_sql.sql.expressions.functions.signature import Function
from kafka_sql.sql.expressions.typed import TypedExpression, UntranslatableError

_TRANSLATIONS: Final[dict[str, Function]] = {
    **conditional.FUNCTIONS,
    **collections.FUNCTIONS,
    **math.FUNCTIONS,
    **regex.FUNCTIONS,
    **strings.FUNCTIONS,
    **datetime.FUNCTIONS,
}
_LAST_DIGIT = "has no translation: the last digit may be another one in Spark. Compute it in the query"
_JSON = (
    "has no exact translation: paths, numbers and damaged JSON are read otherwise by Spark. Declare the column as ROW "
    "with the format json, or use get_json_object in the query"
)
_CLOCK = "has no counterpart: Spark's clock stands still during a batch. Use CURRENT_TIMESTAMP"
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
            "SQRT",
        ],
        _LAST_DIGIT,
    ),
    **dict.fromkeys(["SINH", "TAN", "TANH"], _LAST_DIGIT),
    **dict.fromkeys(["RAND", "RAND_INTEGER"], "has no translation: the same seed gives other numbers in Spark"),
    **dict.fromkeys(["JSON_VALUE", "JSON_QUERY", "JSON_EXISTS", "JSON_OBJECT", "JSON_ARRAY", "JSON_STRING"], _JSON),
    **dict.fromkeys(["JSON_QUOTE", "JSON_UNQUOTE", "IS JSON"], _JSON),
    "CURRENT_ROW_TIMESTAMP": _CLOCK,
    "CURRENT_WATERMARK": "has no counterpart: Spark tells no expression what its watermark is",
    "CURRENT_TIME": "has no translation: Flink keeps whole seconds of it. Use LOCALTIMESTAMP",
    "LOCALTIME": "has no translation: Flink keeps whole seconds of it. Use LOCALTIMESTAMP",
    "INITCAP": "has no translation: words end at other characters in Spark",
    "ASCII": "has no translation: it is the first byte in Flink and the first character in Spark",
    "CHR": "has no translation: numbers above 255 give other characters in Spark",
    "FROM_BASE64": "has no translation: texts that are no Base64 give other results in Spark",
    "TO_DATE": "has no translation: Flink moves dates that do not exist. CAST the text AS DATE",
    "UNIX_TIMESTAMP": "has no translation: what is no time is a number in Flink. Use TIMESTAMPDIFF(SECOND, ...)",
    "CONVERT_TZ": "has no translation: what is no time is read otherwise. Use TIMESTAMP_LTZ and the session's zone",
}


def call(name: str, arguments: Sequence[TypedExpression]) -> TypedExpression:
    """A function call in Spark's words.

    Raises:
        UntranslatableError: the function is not among the translated ones, or not with these arguments.
    """
    function = _TRANSLATIONS.get(name)
    if function is not None:
        return function(arguments)
    if name in _UNSUPPORTED:
        raise UntranslatableError(f"function {name} {_UNSUPPORTED[name]}")
    raise UntranslatableError(
        f"function {name} is not among the functions that are translated.{did_you_mean(name, _TRANSLATIONS)}".rstrip(
            "."
        )
    )
