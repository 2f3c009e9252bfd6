"""Tab completion of keywords, functions, tables, columns, options and their values."""

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
_TABLE_FOLLOWS = {"FROM", "JOIN", "INTO", "TABLE", "STREAM", "DESCRIBE", "DESC", "EXISTS"}


class SqlCompleter(Completer):
    """Completes the word at the cursor. Tables and columns are read from Spark once per prompt."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._functions: list[str] = []
        self._tables: list[str] | None = None
        self._columns: dict[str, list[str]] = {}
        # in the background, so that the first Tab does not wait for it
        InheritableThread(target=self._load_functions, session=spark, daemon=True).start()

    def invalidate(self) -> None:
        """Forget tables and columns: a statement may have changed them."""
        self._tables, self._columns = None, {}

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Return the completions at the cursor."""
        before = document.text_before_cursor
        before = before[split(before)[1] :]
        context = option_context(before)
        if context is not None and (context.typed is not None or _is_option_next(context, before)):
            return _complete_options(context)
        return self._complete_names(before, document.text)

    def _complete_names(self, before: str, text: str) -> Iterator[Completion]:
        match = _WORD.search(before)
        typed = match[0] if match else ""
        *_, last = ["", *(x.upper for x in lexer.tokenize_spark(before[: len(before) - len(typed)]))]
        tables = self.tables()
        if "." in typed:
            table, _, column = typed.rpartition(".")
            yield from _complete_matching(column, self.columns(table.strip("`")), "column")
            return
        yield from _complete_matching(typed, tables, "table")
        if last in _TABLE_FOLLOWS:
            return
        named = {x.name for x in lexer.tokenize_spark(text)}
        for table in tables:
            if table in named:
                yield from _complete_matching(typed, self.columns(table), f"column of {table}")
        if typed:
            yield from _complete_matching(typed, sorted(KEYWORDS), "")
            yield from _complete_matching(typed, self._functions, "function")

    def tables(self) -> list[str]:
        """Return the tables of the current database."""
        if self._tables is None:
            try:
                self._tables = sorted(row.tableName for row in self._spark.sql("SHOW TABLES").collect())
            except (PySparkException, KafkaSqlError):  # not shown at the prompt; the next statement will report it
                self._tables = []
        return self._tables

    def columns(self, table: str) -> list[str]:
        """Return the columns of a table in the current database; empty if it does not exist."""
        if table not in self._columns:
            try:
                self._columns[table] = self._spark.table(quote(table)).columns if table in self.tables() else []
            except (PySparkException, KafkaSqlError):  # a view over a dropped table
                self._columns[table] = []
        return self._columns[table]

    def _load_functions(self) -> None:
        try:
            names = [row[0] for row in self._spark.sql("SHOW FUNCTIONS").collect()]
        except (PySparkException, Py4JError, OSError):  # the shell ended meanwhile
            return
        self._functions = sorted(name for name in names if name.isidentifier())


def _is_option_next(context: OptionContext, before: str) -> bool:
    """Return whether to complete an option whose opening quote is not typed yet, in the brackets of WITH (...)."""
    return not context.is_setting and before[-1:] in "(,= \n"


def _complete_options(context: OptionContext) -> Iterator[Completion]:
    typed = context.typed or ""
    for text, description in suggestions(context):
        if text.lower().startswith(typed.lower()):
            opening, closing = ("'" if context.typed is None else ""), ("'" if context.key is not None else "' = '")
            yield Completion(opening + text + closing, -len(typed), display=text, display_meta=description)


def _complete_matching(typed: str, names: Iterable[str], description: str) -> Iterator[Completion]:
    for name in names:
        if name.lower().startswith(typed.lower().strip("`")):
            keyword = description == "" and typed[:1].islower()
            text = name.lower() if keyword else name
            if description and not re.fullmatch(r"\w+", name):
                text = quote(name)
            yield Completion(text, -len(typed), display=name.lower() if keyword else name, display_meta=description)
