"""Run a statement, in which variables are replaced, and print its rows and the time it took. Ctrl-C stops it."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.cli.engine import engine_for
from kafka_sql.cli.interrupts import Interrupted, run_interruptible
from kafka_sql.cli.screen import Rows, Screen, escape_value, format_lines, progress_bar
from kafka_sql.errors import StatementError
from kafka_sql.spark.data_sources import active_session
from kafka_sql.sql.jobs.targets import builtin_sinks
from kafka_sql.sql.recognize import statement_types as st
from kafka_sql.sql.recognize.classify import classify
from kafka_sql.statement_masking import mask_statement

_HEADER_KEYS = ("spark.sql.cli.print.header", "hive.cli.print.header")
_STATEMENT_NUMBERS = itertools.count(1)
# without env: and system:, which Spark replaces in its own statements; in WITH, ${env:NAME} is a secret reference
_VARIABLE = re.compile(r"\$\{(?:(?:hivevar|hiveconf|spark|sparkconf):)?([^\s:}]+)\}")


class Runner:
    """Runs the statements of one session, and prints their results on a screen."""

    def __init__(self, spark: SparkSession, screen: Screen, verbose: bool = False) -> None:
        self.spark = spark
        self.screen = screen
        self._verbose = verbose
        self._engine = engine_for(spark)
        builtin_sinks.line_printer = screen.line

    def run(self, statement: str) -> None:
        """Run a statement and print its rows.

        A streaming SELECT prints until it ends or is stopped; stopping it is not an error.

        Raises:
            Interrupted: the user stopped the statement.
        """
        if self._verbose:
            self.screen.rows([mask_statement(statement)])
        execution = _Execution(self, statement)
        start = time.monotonic()

        def tick() -> None:
            if execution.is_printing:
                return
            line = progress_bar(*self._engine.count_tasks(execution.tag), start)
            if line is not None:
                self.screen.status(line, lambda: not execution.is_printing)

        try:
            run_interruptible(self.spark, execution.work, execution.cancel, tick, self.screen.error)
        except Interrupted:
            if execution.query is None or execution.query.exception() is not None:
                raise
        finally:
            self.screen.clear()
        row_count = f", Fetched {execution.rows} row(s)" if execution.rows else ""
        seconds = (execution.first_rows_at or time.monotonic()) - start
        self.screen.info(f"Time taken: {seconds:.3f} seconds{row_count}")


class _Execution:
    """The execution of one statement. ``work`` and ``cancel`` are called in different threads."""

    def __init__(self, runner: Runner, statement: str) -> None:
        self.spark, self.screen, self.engine = runner.spark, runner.screen, runner._engine
        self.statement = statement
        self.tag = f"kafka-sql-{next(_STATEMENT_NUMBERS)}"
        self.query: StreamingQuery | None = None
        self.first_rows_at: float | None = None  # monotonic time
        self.rows = 0
        self.is_printing = False
        self._columns: list[str] = []
        self._stop = threading.Event()

    def work(self) -> None:
        # this thread is new; without an active session, Spark would format rows with default settings
        with active_session(self.spark):
            self._run()

    def _run(self) -> None:
        self.engine.tag(self.tag)
        text = substitute(self.spark, self.statement, self.screen.error)
        result = self.spark.sql(text)
        self._columns = result.columns
        if result.isStreaming:
            self._print_header(result)
            self.query = self.engine.start_stream(result, self._print)
            if self._stop.is_set():
                self.query.stop()
            self.engine.wait_for_end(self.query, self._print)
        elif result.columns:
            rows = _select_names(result, text)
            self._print_all(rows, self.engine.collect_rows(rows))

    def cancel(self) -> None:
        self._stop.set()
        if self.query is not None:
            self.query.stop()
        else:
            self.engine.cancel(self.tag)

    def _print_all(self, result: DataFrame, chunks: Iterator[Rows]) -> None:
        first_chunk = next(chunks, [])
        self.first_rows_at = time.monotonic()
        self._print_header(result)
        for chunk in itertools.chain([first_chunk], chunks):
            if self._stop.is_set():
                return
            self._print(chunk)

    def _print_header(self, result: DataFrame) -> None:
        if any((self.spark.conf.get(key, None) or "").lower() == "true" for key in _HEADER_KEYS):
            self.screen.rows(["\t".join(map(escape_value, result.columns))])

    def _print(self, rows: Rows) -> None:
        self.is_printing = True
        self.screen.rows(format_lines(rows, self.statement, self._columns))
        self.rows += len(rows)


def _select_names(result: DataFrame, statement: str) -> DataFrame:
    """Return only the names of SHOW TABLES and SHOW VIEWS, as spark-sql does, and the types of SHOW FULL TABLES.

    For other statements, return the whole result.
    """
    match classify(statement):
        case st.ShowTables(full=full):
            return result.select("tableName", "table type") if full else result.select("tableName")
        case st.ShowViews():
            return result.select("viewName")
    return result


def substitute(spark: SparkSession, statement: str, warn: Callable[[str], None]) -> str:
    """Replace variables as Spark's parser does, which Flink's statements do not reach. Unknown ones stay unchanged.

    Args:
        warn: receives a message about each unknown variable: its name could become that of a folder.

    Raises:
        StatementError: the value of a variable refers to the variable itself, directly or through other variables.
    """
    if "${" not in statement or spark.conf.get("spark.sql.variable.substitute", "true") != "true":
        return statement

    def lookup(name: str) -> str | None:
        value = spark.conf.get(name, None)
        if value is None:
            warn(
                f"Variable '{name}' is not defined. Define it with --hivevar {name}=VALUE, or with SET {name} = VALUE."
            )
        return value

    return expand(statement, lookup)


def expand(text: str, lookup: Callable[[str], str | None], enclosing: frozenset[str] = frozenset()) -> str:
    """Replace variables, including those in their values. ``enclosing`` are those whose values contain the text."""

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        value = lookup(name)
        if value is None:
            return match[0]
        if name in enclosing:
            raise StatementError(f"The value of variable '{name}' refers to the variable itself. Change it with SET.")
        return expand(value, lookup, enclosing | {name})

    return _VARIABLE.sub(replace, text)
