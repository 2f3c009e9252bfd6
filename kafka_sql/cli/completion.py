"""Complete keywords, functions, tables, columns, options and their values when the user presses Tab."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.util import InheritableThread

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import KafkaSqlError
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Option
from kafka_sql.options.connector import KAFKA_OPTIONS
from kafka_sql.spark.jvm import JavaError
from kafka_sql.sql.jobs.settings import SETTINGS
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.recognize.splitter import split

_KEYWORDS: Final = """
ADD ALL ALTER ANALYZE AND ANTI ARRAY AS ASC BATCH BEGIN BETWEEN BIGINT BINARY BOOLEAN BY BYTES CACHE CASE CAST CATALOG
CHAR CLUSTER COLUMN COLUMNS COMMENT CONSTRAINT CREATE CROSS CUBE CURRENT CURRENT_DATE CURRENT_TIMESTAMP DATABASE
DATABASES DATE DAY DECIMAL DELAY DELETE DESC DESCRIBE DISTINCT DISTRIBUTE DOUBLE DRAIN DROP ELSE END ENFORCED ESCAPE
EXCEPT EXCLUDING EXECUTE EXISTS EXPLAIN FALSE FILTER FIRST FLOAT FOLLOWING FOR FROM FULL FUNCTION FUNCTIONS GROUP
HAVING HOUR IF ILIKE IN INCLUDING INNER INSERT INT INTEGER INTERSECT INTERVAL INTO IS JOB JOBS JOIN KEY LAST LATERAL
LEFT LIKE LIMIT LOCAL LOCATION MAP MATCHED MERGE METADATA MINUTE MODIFY MONTH MULTISET NATURAL NOT NULL NULLS OF
OFFSET ON OPTIONS OR ORDER OUTER OVER OVERWRITING PARTITION PARTITIONED PIVOT PRECEDING PRECISION PRIMARY QUALIFY
RANGE REFRESH RENAME REPLACE RESET RIGHT RLIKE ROLLUP ROW ROWS SAVEPOINT SCHEMA SCHEMAS SECOND SELECT SEMI SET SHOW
SMALLINT SORT STATEMENT STOP STREAM STRING TABLE TABLES TABLESAMPLE TBLPROPERTIES TEMPORARY THEN TIME TIMESTAMP
TIMESTAMP_LTZ TINYINT TO TRUE TRUNCATE UNBOUNDED UNCACHE UNION UNPIVOT UPDATE USE USING VALUES VARBINARY VARCHAR VIEW
VIEWS VIRTUAL WATERMARK WHEN WHERE WINDOW WITH WITHOUT YEAR ZONE
"""
KEYWORDS: Final = frozenset(_KEYWORDS.split())  # of Spark and Flink

_WORD = re.compile(r"[\w.`]*$")
_TABLE_FOLLOWS = {"FROM", "JOIN", "INTO", "TABLE", "STREAM", "DESCRIBE", "DESC", "EXISTS"}
_FORMAT_KEYS = ("format", "value.format", "key.format")


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
        text = document.text_before_cursor
        statement_start = text[split(text)[1] :]
        context = option_context(statement_start)
        if context is not None:
            # without an opening quote, only where WITH (...) expects an option
            is_option_next = not context.is_setting and statement_start[-1:] in "(,= \n"
            if context.fragment is not None or is_option_next:
                return _complete_options(context)
        return self._complete_names(statement_start, document.text)

    def _complete_names(self, statement_start: str, text: str) -> Iterator[Completion]:
        match = _WORD.search(statement_start)
        fragment = match[0] if match else ""
        tokens = lexer.tokenize_spark(statement_start[: len(statement_start) - len(fragment)])
        *_, previous_word = ["", *(token.upper for token in tokens)]
        tables = self.tables()
        if "." in fragment:
            table, _, column = fragment.rpartition(".")
            yield from _complete_matching(column, self.columns(table.strip("`")), "column")
            return
        yield from _complete_matching(fragment, tables, "table")
        if previous_word in _TABLE_FOLLOWS:
            return
        names = {token.name for token in lexer.tokenize_spark(text)}
        for table in tables:
            if table in names:
                yield from _complete_matching(fragment, self.columns(table), f"column of {table}")
        if fragment:
            yield from _complete_matching(fragment, sorted(KEYWORDS), "")
            yield from _complete_matching(fragment, self._functions, "function")

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
        except (PySparkException, JavaError, OSError):  # the shell ended meanwhile
            return
        self._functions = sorted(name for name in names if name.isidentifier())


def _complete_options(context: OptionContext) -> Iterator[Completion]:
    fragment = context.fragment or ""
    for text, description in suggestions(context):
        if text.lower().startswith(fragment.lower()):
            opening, closing = ("'" if context.fragment is None else ""), ("'" if context.key is not None else "' = '")
            yield Completion(opening + text + closing, -len(fragment), display=text, display_meta=description)


def _complete_matching(fragment: str, names: Iterable[str], description: str) -> Iterator[Completion]:
    """Yield the names that start with a fragment. A name without a description is a keyword."""
    for name in names:
        if name.lower().startswith(fragment.lower().strip("`")):
            display = name.lower() if not description and fragment[:1].islower() else name
            text = quote(name) if description and not re.fullmatch(r"\w+", name) else display
            yield Completion(text, -len(fragment), display=display, display_meta=description)


class OptionContext(NamedTuple):
    """The option at the cursor."""

    key: str | None  # the option whose value is typed; None if a key is typed
    fragment: str | None  # the part of the literal before the cursor; None if its opening quote is not typed yet
    options: dict[str, str]  # the options before the cursor, with their values
    is_setting: bool  # whether the option belongs to SET or RESET, not to a table


def option_context(text: str) -> OptionContext | None:
    """Return the option at the end of a statement's text up to the cursor; None if there can be none."""
    tokens = list(lexer.tokenize_flink(text))
    fragment = None
    open_quote = next((i for i, x in enumerate(tokens) if x.type == lexer.SYMBOL and x.text == "'"), None)
    if open_quote is not None:
        fragment = text[tokens[open_quote].end :]
        tokens = tokens[:open_quote]
    start = _options_start(tokens)
    if start is None:
        return None
    option_tokens = tokens[start:]
    options = {
        key.text[1:-1]: value.text[1:-1]
        for key, equals, value in zip(option_tokens, option_tokens[1:], option_tokens[2:], strict=False)
        if equals.text == "=" and key.type == lexer.STRING == value.type
    }
    is_setting = tokens[0].upper in ("SET", "RESET")
    if not option_tokens or option_tokens[-1].text == ",":
        return OptionContext(None, fragment, options, is_setting)
    if option_tokens[-1].text == "=" and len(option_tokens) > 1 and option_tokens[-2].type == lexer.STRING:
        return OptionContext(option_tokens[-2].text[1:-1], fragment, options, is_setting)
    return None


def _options_start(tokens: list[Token]) -> int | None:
    """Return the index after the ``(`` of the options, or after SET or RESET; None if there is neither."""
    words = [x.upper for x in tokens[:3]]
    if words[:1] == ["SET"] or words[:1] == ["RESET"]:
        return 1
    if words[:1] not in (["CREATE"], ["ALTER"]) or "TABLE" not in words:
        return None
    clause = "WITH" if words[0] == "CREATE" else "SET"
    starts = [i + 2 for i, x in enumerate(tokens[:-1]) if x.upper == clause and tokens[i + 1].text == "("]
    if not starts or any(x.text == ")" for x in tokens[starts[-1] :]):
        return None
    return starts[-1]


def suggestions(context: OptionContext) -> list[tuple[str, str]]:
    """Return the allowed keys or values, each with a short description."""
    options = SETTINGS if context.is_setting else table_options(context.options)
    if context.key is None:
        return [(key, option.type) for key, option in options.items() if key not in context.options]
    if context.key in _FORMAT_KEYS and not context.is_setting:
        return [(identifier, "format") for identifier in FORMATS]
    option = options.get(context.key)
    return [(value, "default" if value == option.default else "") for value in option.allowed] if option else []


def table_options(values: dict[str, str]) -> dict[str, Option[Any]]:
    """Return the options of the connector and of the formats among the values, or of all formats without any."""
    formats = [(key, values[key]) for key in _FORMAT_KEYS if values.get(key) in FORMATS]
    options = {option.key: option for option in KAFKA_OPTIONS}
    for key, identifier in formats or [("format", name) for name in FORMATS]:
        prefix = key.removesuffix("format")
        options.update({prefix + option.key: option for option in FORMATS[identifier].options})
    return options
