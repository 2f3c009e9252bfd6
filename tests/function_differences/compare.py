"""Compare the results of both engines, and the table of differences with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kafka_sql.sql.function_differences import Difference, find_differences
from kafka_sql.sql.recognize.query_text import QueryText
from tests.function_differences.values import Call, Error, same

# functions of Java's Math, whose last digit may differ, and differences of types and texts that no function causes
_NUMBER_TEXT: Final = re.compile(r"^-?[\d.]+(E-?\d+)?$")


class Found(NamedTuple):
    """A call with other results in Spark, where neither engine fails."""

    call: Call
    row: int  # from 0
    flink: Any
    spark: Any


def silent_differences(flink: Iterable[Call], spark: Mapping[tuple[str, str], Call]) -> Iterator[Found]:
    """Yield the first row of each call for which both engines return a value, and not the same one."""
    for call in flink:
        other = spark.get((call.table, call.expression))
        if other is None or not call.results or not other.results:
            continue
        for row, (a, b) in enumerate(zip(call.results, other.results, strict=True)):
            if not isinstance(a, Error) and not isinstance(b, Error) and not same(a, b):
                yield Found(call, row, a, b)
                break


def without_warning(found: Iterable[Found]) -> list[Found]:
    """Return the differences of which no statement would be warned."""
    return [f for f in found if not find_differences(QueryText(f"SELECT {f.call.expression}"))]


def instead_of(difference: Difference, expression: str) -> str | None:
    """Return what the table has instead of an expression that is one call or operator; None if it has another form."""
    names = re.findall(r"(?<!\w)[a-z]\w*(?!\w)", difference.call)
    pattern = re.escape(difference.call)
    for name in names:
        pattern = re.sub(rf"(?<!\w){name}(?!\w)", rf"(?P<{name}>.+?)", pattern, count=1)
    match = re.fullmatch(pattern, expression)
    if match is None or not difference.instead:
        return None
    return re.sub(r"(?<![\w'])[a-z]\w*(?![\w'])", lambda m: match.groupdict().get(m[0], m[0]), difference.instead)
