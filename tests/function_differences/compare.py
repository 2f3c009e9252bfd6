"""Compare the results of both engines, and the table of differences with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kafka_sql.sql.function_differences import Difference, find_differences
from kafka_sql.sql.recognize.query_text import QueryText
from tests.function_differences.values import Call, Error, same

# what has no warning, because only rare values differ and almost every query would have it: the page names them
_WITHOUT_WARNING: Final = {
    "times before 1970, which Flink rounds up": r"times: (EXTRACT|YEAR|QUARTER|MONTH|WEEK|DAY|HOUR|MINUTE|SECOND|CAST)",
    "NaN and infinity": r"numbers: (.* (>|<|=|<>|>=|IN) .*|SQRT\(x\)|\(SELECT (MAX|MIN)\(.*)",
    "limits of numbers and times": r"times: (FROM_UNIXTIME\(b|TIMESTAMPDIFF\()|numbers: .*(SUM|AVG)\(",
    "a DATE, which is a TIMESTAMP in Spark": r"times: TIMESTAMPADD\(\w+, 1, d\)",
    "empty patterns": r"strings: REGEXP\w*\(s, ''\)",
    "letters that have no upper or lower case of one character": r"strings: (UPPER|LOWER)\('",
    "lengths that SHA2 does not have": r"strings: SHA2\(s, i\)",
    "the order of a map": r"nested: MAP_(KEYS|VALUES|ENTRIES)\(m\)",
    "a text without a time": r"times: DATE_FORMAT\('2024-02-29', 'yyyy'\)",
}


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
    """Return the differences of which no statement would be warned, without those that the page names."""
    known = re.compile("|".join(_WITHOUT_WARNING.values()))
    return [
        f
        for f in found
        if not known.match(f"{f.call.table}: {f.call.expression}")
        and not find_differences(QueryText(f"SELECT {f.call.expression}"))
    ]


def example_instead(difference: Difference) -> str | None:
    """Return the example with Flink's result in Spark; None if the table has none for its form."""
    name, _, parameters = difference.call.removesuffix(")").partition("(")
    if not difference.instead or " " in parameters.replace(", ", "") or "..." in parameters or not name.isidentifier():
        return None
    query = QueryText(difference.example)
    start = next(i for i in range(len(query.tokens)) if query.word(i) == name)
    end = query.closing(start + 1)
    arguments = [query.part(part) for part in query.split(range(start + 2, end))]
    values = dict(zip(parameters.split(", "), arguments, strict=True))
    call = re.sub(r"(?<![\w'])[a-z](?![\w'])", lambda m: values.get(m[0], m[0]), difference.instead)
    return query.text[: query.tokens[start].start] + call + query.text[query.tokens[end].end :]
