"""Warn of functions and operators in a statement that Spark and Flink have under one name, with other results.

``function_differences.tsv`` lists them, with results that ``python -m tests.function_differences`` has computed.
"""

from __future__ import annotations

import csv
import functools
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from kafka_sql.catalog.tables import Tables
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.names import resolve_table
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.table_references import find_table_references
from kafka_sql.sql.rewrite.views import find_view

TABLE: Final = Path(__file__).with_suffix(".tsv")
_LOG: Final = logging.getLogger("kafka_sql.sql.function_differences")
_BACKSLASH: Final = "'\\'"
_OPERATORS: Final = ("/", "[")


class Difference(NamedTuple):
    """A function or an operator with other results in Flink than in Spark.

    Attributes:
        call: a call with the names of its arguments, such as ``LOCATE(part, text)``; or an operator, such as ``a / b``.
        difference: what differs, in one sentence.
        instead: an expression of Spark with Flink's results, of the same names; empty if there is none.
        example: a call with constants, of the same form.
        flink: Flink's result of the example.
        spark: Spark's result of the example.
    """

    call: str
    difference: str
    instead: str
    example: str
    flink: str
    spark: str

    @property
    def name(self) -> str:
        """The name of the function, ``/`` or ``[``, or ``'\\'`` for a backslash in a string."""
        name = self.call.partition("(")[0]
        return next((symbol for symbol in (*_OPERATORS, _BACKSLASH) if symbol in name), name)

    def is_of(self, words: Sequence[str], argument_count: int) -> bool:
        """Return whether a call with these words and arguments has the difference."""
        arguments = self.call.partition("(")[2].removesuffix(")")
        keywords = re.findall(r"\b[A-Z]+\b", arguments)
        if keywords:
            return all(keyword in words for keyword in keywords)
        count = arguments.count(",")
        return argument_count >= count if arguments.endswith("...") else argument_count == count + 1


@functools.cache
def differences() -> dict[str, list[Difference]]:
    """Return the table of differences by names, in the order of the file."""
    by_name: dict[str, list[Difference]] = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, csv.excel_tab, quoting=csv.QUOTE_NONE)
        for difference in [Difference(*row) for row in rows][1:]:
            by_name.setdefault(difference.name, []).append(difference)
    return by_name


@functools.cache
def _pattern() -> re.Pattern[str]:
    """Return what a statement contains if it may have a difference."""
    functions = "|".join(name for name in differences() if name.isidentifier())
    return re.compile(rf"[/\[\\]|\b(?:{functions})\s*\(", re.IGNORECASE)


def find_differences(query: QueryText) -> list[Difference]:
    """Return what differs in the text of a query, each once, in the order of the text."""
    if not _pattern().search(query.text):
        return []
    return list(dict.fromkeys(difference for index in range(len(query.tokens)) for difference in _at(query, index)))


def _at(query: QueryText, index: int) -> Iterator[Difference]:
    token = query.tokens[index]
    if token.type == lexer.STRING:
        if "\\" in token.text and token.text[0] not in "rR":
            yield from differences().get(_BACKSLASH, ())
    elif token.text in _OPERATORS:
        if _may_differ(query, index):
            yield from differences().get(token.text, ())
    elif token.upper in differences() and query.word(index + 1) == "(" and query.word(index - 1) != ".":
        arguments = range(index + 2, query.closing(index + 1))
        words, count = query.words(arguments), len(query.split(arguments))
        yield from (d for d in differences()[token.upper] if d.is_of(words, count))


def _may_differ(query: QueryText, index: int) -> bool:
    """Return whether ``/`` may divide integers, and ``[`` may be the index of an array: types are not known yet."""
    operands = [query.tokens[i] for i in (index - 1, index + 1) if 0 <= i < len(query.tokens)]
    if query.tokens[index].text == "[":
        return operands[-1].type != lexer.STRING
    return not any(token.type == lexer.NUMBER and not token.text.isdigit() for token in operands)


def warn_of_differences(spark: SparkSession, tables: Tables, query: QueryText, writes_kafka: bool = False) -> None:
    """Log a warning for each function and operator of a statement that has another result in Flink.

    Args:
        query: the statement or its query, as the user has written it.
        writes_kafka: whether the statement writes a Kafka table; otherwise it must read one.
    """
    found = find_differences(query) if tables else []
    if not found or settings.read(spark, settings.FUNCTION_DIFFERENCES) == settings.IGNORE:
        return
    if writes_kafka or _reads_kafka(tables, query):
        for difference in found:
            _LOG.warning("%s", describe(difference))


def describe(difference: Difference) -> str:
    """Return the text of a warning."""
    instead = f" For Flink's result, write {difference.instead}." if difference.instead else ""
    return f"{difference.call} is Spark's here, with other results than in Flink. {difference.difference}{instead}"


def _reads_kafka(tables: Tables, query: QueryText) -> bool:
    """Return whether a query reads a Kafka table, by itself or in a view."""
    names = {reference.name for reference in find_table_references(query)}
    if any(resolve_table(tables, name) is not None for name in names):
        return True
    return any(_reads_kafka(tables, QueryText(text)) for text in _view_texts(tables, names))


def _view_texts(tables: Tables, names: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for name in names:
        view = find_view(tables, name)
        if view is not None:
            yield view.text
