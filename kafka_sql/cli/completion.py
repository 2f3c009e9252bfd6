"""Completion by the Tab key: keywords, functions, tables, columns, options and their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.util import InheritableThread

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.cli.keywords import KEYWORDS
from kafka_sql.cli.options import OptionContext, option_context, suggestions
from kafka_sql.cli.splitter import split
from kafka_sql.errors import KafkaSqlError
from kafka_sql.sql.recognize import lexer

_WORD = re.compile(r"[\w.`]*$")
_BEFORE_A_TABLE = {"FROM", "JOIN", "INTO", "TABLE", "STREAM", "DESCRIBE", "DESC", "EXISTS"}


class SqlCompleter(Completer):
    """Offers what can stand at the cursor. Spark is asked for tables and columns once a prompt."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._functions: list[str] = []
        self._tables: list[str] | None = None
        self._columns: dict[str, list[str]] = {}
        # not at the first Tab, which would have to wait for it
        InheritableThread(target=self._load, session=spark, daemon=True).start()

    def invalidate(self) -> None:
        """Ask for tables and columns again: a statement may have changed them."""
        self._tables, self._columns = None, {}

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What fits at the cursor."""
        before = document.text_before_cursor
        before = before[split(before)[1] :]
        at = option_context(before)
        if at is not None and (at.typed is not None or _is_next(at, before)):
            return _options(at)
        return self._names(before, document.text)

    def _names(self, before: str, text: str) -> Iterator[Completion]:
        match = _WORD.search(before)
        typed = match[0] if match else ""
        *_, last = ["", *(x.upper for x in lexer.tokenize_spark(before[: len(before) - len(typed)]))]
        tables = self.tables()
        if "." in typed:
            table, _, column = typed.rpartition(".")
            yield from _matching(column, self.columns(table.strip("`")), "column")
            return
        yield from _matching(typed, tables, "table")
        if last in _BEFORE_A_TABLE:
            return
        named = {x.name for x in lexer.tokenize_spark(text)}
        for table in tables:
            if table in named:
                yield from _matching(typed, self.columns(table), f"column of {table}")
        if typed:
            yield from _matching(typed, sorted(KEYWORDS), "")
            yield from _matching(typed, self._functions, "function")

    def tables(self) -> list[str]:
        """The tables of the current database."""
        if self._tables is None:
            try:
                self._tables = sorted(row.tableName for row in self._spark.sql("SHOW TABLES").collect())
            except (PySparkException, KafkaSqlError):  # a prompt is no place for its message; a statement will show it
                self._tables = []
        return self._tables

    def columns(self, table: str) -> list[str]:
        """The columns of a table of the current database; none where there is no such table."""
        if table not in self._columns:
            try:
                self._columns[table] = self._spark.table(quote(table)).columns if table in self.tables() else []
            except (PySparkException, KafkaSqlError):  # a view over a table that is gone
                self._columns[table] = []
        return self._columns[table]

    def _load(self) -> None:
        try:
            names = [row[0] for row in self._spark.sql("SHOW FUNCTIONS").collect()]
        except (PySparkException, Py4JError, OSError):  # the user has left before they came
            return
        self._functions = sorted(name for name in names if name.isidentifier())


def _is_next(at: OptionContext, before: str) -> bool:
    """Whether a literal without its first quote can be offered: a table's options stand in brackets."""
    return not at.settings and before[-1:] in "(,= \n"


def _options(at: OptionContext) -> Iterator[Completion]:
    typed = at.typed or ""
    for text, about in suggestions(at):
        if text.lower().startswith(typed.lower()):
            opening, closing = ("'" if at.typed is None else ""), ("'" if at.key is not None else "' = '")
            yield Completion(opening + text + closing, -len(typed), display=text, display_meta=about)


def _matching(typed: str, names: Iterable[str], about: str) -> Iterator[Completion]:
    for name in names:
        if name.lower().startswith(typed.lower().strip("`")):
            keyword = about == "" and typed[:1].islower()
            text = name.lower() if keyword else name
            if about and not re.fullmatch(r"\w+", name):
                text = quote(name)
            yield Completion(text, -len(typed), display=name.lower() if keyword else name, display_meta=about)
