"""Write in Spark's syntax what only Flink's parser accepts, and reject by name what Spark cannot run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.edits import Edit, Template

MAY_HAVE_FLINK_SYNTAX: Final = re.compile(
    r"\$|\b(?:VARCHAR|ROW|OFFSET|FETCH|INTERVAL|MATCH_RECOGNIZE|CURRENT_WATERMARK|PRECEDING|STATE_TTL)\b|\bCOLLECT\s*\(",
    re.IGNORECASE,
)
_UNITS: Final = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_TTL: Final = r"STATE_TTL\s*\((?:[^()']|'[^']*')*\)"
_STATE_HINT: Final = re.compile(rf"/\*\+\s*{_TTL}(?:\s*,\s*{_TTL})*\s*\*/", re.IGNORECASE)
_FETCH: Final = r"FETCH (?:FIRST|NEXT) (?:(?P<limit>\d+) )?ROWS? ONLY"
_LIMITS: Final = re.compile(rf"(?:OFFSET (?P<offset>\d+) ROWS?(?: |$))?(?:{_FETCH})?")


def rewrite_flink_syntax(query: QueryText, streaming: bool) -> list[Edit]:
    """Return the edits that write Flink's syntax as Spark's.

    Args:
        streaming: whether the query reads streams.

    Raises:
        UnsupportedSqlError: MATCH_RECOGNIZE; CURRENT_WATERMARK, or the hint STATE_TTL, in a continuous query.
    """
    if not MAY_HAVE_FLINK_SYNTAX.search(query.text):
        return []
    _check_no_patterns(query)
    return [
        *_quote_names(query),
        *_name_strings(query),
        *_name_rows(query),
        *_remove_watermarks(query, streaming),
        *_rewrite_limits(query),
        *_rewrite_collect(query),
        *_rewrite_frames(query),
        *_remove_precisions(query),
        *_remove_state_hints(query, streaming),
    ]


def _check_no_patterns(query: QueryText) -> None:
    for i in range(len(query.tokens)):
        if query.word(i) == "MATCH_RECOGNIZE" and query.word(i + 1) == "(":
            raise UnsupportedSqlError(
                "MATCH_RECOGNIZE is not supported: Spark has no operator for patterns of rows. In a continuous query, "
                "write a JOIN of the table with itself for each step of the pattern, with a range of event times in "
                "ON, such as b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR. In a batch query, compare rows with LAG "
                "and LEAD over (PARTITION BY ... ORDER BY ts)."
            )


def _remove_state_hints(query: QueryText, streaming: bool) -> list[Edit]:
    """Remove ``/*+ STATE_TTL('t' = '1 d', ...) */``, which has no effect in a batch, as in Flink."""
    hints = [hint for hint in query.hints if _STATE_HINT.fullmatch(hint.text)]
    if hints and streaming:
        raise UnsupportedSqlError(
            "Hint STATE_TTL is not supported: Spark keeps the state of an aggregate or a join until a watermark "
            "removes it, and would return other rows than Flink. Remove the hint; to limit the state, declare a "
            "WATERMARK, and group by a window or restrict the join by time."
        )
    return [Edit(hint.start, hint.end, "") for hint in hints]


def _quote_names(query: QueryText) -> list[Edit]:
    """Quote names with a dollar sign, such as those in the SQL that Flink's Table API serializes."""
    names = (token for token in query.tokens if token.type == lexer.WORD and "$" in token.text)
    return [Edit(token.start, token.end, quote(token.text)) for token in names]


def _name_strings(query: QueryText) -> list[Edit]:
    """Write VARCHAR without a length in a CAST as STRING, which it is in Flink."""
    casts = (i for i in range(len(query.tokens)) if query.word(i) in ("CAST", "TRY_CAST") and query.word(i + 1) == "(")
    ends = (query.closing(i + 1) for i in casts)
    types = (range(end - 1, end) for end in ends if (query.word(end - 2), query.word(end - 1)) == ("AS", "VARCHAR"))
    return [Edit(*query.span(type), "STRING") for type in types]


def _name_rows(query: QueryText) -> list[Edit]:
    """Write the type ``ROW<...>`` as ``STRUCT<...>``, and ``CAST(ROW(...) AS ...)`` with the function ``struct``."""
    rows = [i for i in range(len(query.tokens)) if query.word(i) == "ROW"]
    types = [i for i in rows if query.word(i + 1) == "<"]
    calls = [i for i in rows if query.word(i + 1) == "(" and query.word(i - 1) == "(" and query.word(i - 2) == "CAST"]
    return [
        *(Edit(*query.span(range(i, i + 1)), "STRUCT") for i in types),
        *(Edit(*query.span(range(i, i + 1)), "struct") for i in calls),
    ]


def _remove_watermarks(query: QueryText, streaming: bool) -> list[Edit]:
    """Write ``CURRENT_WATERMARK(ts)`` as NULL of the type of ``ts``, which it is in a batch, as in Flink."""
    calls = (i for i in range(len(query.tokens)) if query.word(i) == "CURRENT_WATERMARK" and query.word(i + 1) == "(")
    edits = []
    for i in calls:
        if streaming:
            raise UnsupportedSqlError(
                "CURRENT_WATERMARK is not supported in a continuous query: Spark knows its watermark only where rows "
                "are kept. Late rows need no filter: windows, and joins by a range of event times, drop them. To write "
                "late rows elsewhere, compare ts with the time of the record, a column METADATA FROM 'timestamp'."
            )
        time = query.text[query.tokens[i + 1].end : query.tokens[query.closing(i + 1)].start]
        edits.append(Edit(*query.span(range(i, query.closing(i + 1) + 1)), f"nullif({time}, {time})"))
    return edits


def _rewrite_limits(query: QueryText) -> list[Edit]:
    """Write ``OFFSET m ROWS``, ``FETCH FIRST n ROWS ONLY`` or both as ``LIMIT n OFFSET m``."""
    edits = []
    for i, token in enumerate(query.tokens):
        if token.upper not in ("OFFSET", "FETCH"):
            continue
        match = _LIMITS.match(" ".join(query.words(range(i, min(i + 8, len(query.tokens))))))
        if match is not None and match[0]:
            limit = f"LIMIT {match['limit'] or 1}" if "FETCH" in match[0] else ""
            offset = f"OFFSET {match['offset']}" if int(match["offset"] or 0) else ""
            clause = range(i, i + len(match[0].split()))
            edits.append(Edit(*query.span(clause), f"{limit} {offset}".strip()))
    return edits


def _rewrite_frames(query: QueryText) -> Iterator[Edit]:
    """Yield the edits that write ``CAST(n AS BIGINT) PRECEDING`` as ``n PRECEDING``: Spark's bounds are INT."""
    for i in range(len(query.tokens)):
        words = [query.word(index) for index in range(i + 3, i + 7)]
        if query.word(i) == "CAST" and words == ["AS", "BIGINT", ")", "PRECEDING"]:
            yield Edit(*query.span(range(i, i + 6)), query.tokens[i + 2].text)


def _remove_precisions(query: QueryText) -> Iterator[Edit]:
    """Yield the edits that remove the precisions of ``INTERVAL '...' DAY(1) TO SECOND(3)``, unknown in Spark."""
    for i in range(len(query.tokens)):
        if query.word(i) != "INTERVAL":
            continue
        for start in (i + 3, i + 5, i + 8):  # of the first unit, of the second one, and of the second one after a first
            is_unit = query.word(start - 1) in _UNITS and query.word(start) == "("
            if is_unit and (start == i + 3 or query.word(start - 2) == "TO"):
                yield Edit(*query.span(range(start, query.closing(start) + 1)), "")


def _rewrite_collect(query: QueryText) -> Iterator[Edit]:
    """Yield the edits that write COLLECT, which returns a multiset, as a map from each value to its number."""
    for i in range(len(query.tokens)):
        if query.word(i) != "COLLECT" or query.word(i + 1) != "(" or query.word(i - 1) == ".":
            continue
        end = query.closing(i + 1) + 1
        if query.word(end) == "FILTER" and query.word(end + 1) == "(":
            end = query.closing(end + 1) + 1
        arguments = query.span(range(i + 1, end)) if end <= len(query.tokens) and end > i + 3 else None
        if arguments is None:
            continue
        values: Template = ["collect_list", arguments]
        number: Template = ["1"]
        if query.word(i + 2) != "DISTINCT":
            number = ["size(filter(", *values, ", __other -> __other = __value))"]
        distinct: Template = ["transform(array_distinct(", *values, "), __value -> struct(__value, ", *number, "))"]
        yield Edit(query.tokens[i].start, arguments.end, ["map_from_entries(", *distinct, ")"])
