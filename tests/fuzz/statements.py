"""Fuzz SQL statements: they are parsed, passed to Spark unchanged, or rejected with an error that has a position."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

from kafka_sql.errors import KafkaSqlError, SqlSyntaxError
from kafka_sql.spark.plan_reader import _PLAN as PLAN
from kafka_sql.sql.declarations.alter import apply_alteration
from kafka_sql.sql.declarations.create import parse_create, to_declaration, to_table
from kafka_sql.sql.declarations.render import render_create_table, render_masked
from kafka_sql.sql.dispatch import dispatch
from kafka_sql.sql.grammar.parser import parse_alteration
from kafka_sql.sql.grammar.statement_nodes import RenameTable
from kafka_sql.sql.recognize import statement_types as st
from kafka_sql.sql.recognize.classify import classify, is_query
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.splitter import split
from kafka_sql.sql.recognize.table_references import find_table_references
from kafka_sql.sql.rewrite.hints import check_hint_positions, has_options_hint, parse_hint
from kafka_sql.sql.rewrite.query_rewriter import has_flink_syntax
from tests.fuzz.harness import require
from tests.fuzz.mutation import lengthen, mutate_text

_ROOT: Final = Path(__file__).parents[2]
_LONG: Final = 20_000  # characters; exceeds the time limit if the run time is quadratic
_BASE: Final = (
    "CREATE TABLE t (a INT, b STRING, c AS a + 1, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'k')"
)

# statements that are always handled by this package
HANDLED: Final = (
    st.CreateTable,
    st.DropTemporaryView,
    st.Execute,
    st.Explain,
    st.FlinkStatement,
    st.ResetOption,
    st.SetOption,
    st.ShowCreateView,
    st.ShowCurrent,
    st.ShowJobs,
    st.ShowTables,
    st.ShowViews,
    st.StatementSet,
    st.StopJob,
    st.UseCatalog,
    st.UseDatabase,
)


class NoTables:
    """Tables of a session in which no name is found."""

    are_private = False

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def find(self, name: tuple[str, ...]) -> None:
        return None

    def spark_sql(self, text: str) -> Any:
        return SimpleNamespace(collect=list, isStreaming=False)


def is_passed_through(sql: str, mode: str) -> bool:
    """Return whether a statement is passed to Spark. Without syntax of Flink's, it must reach Spark unchanged."""
    statement_type = classify(sql)
    if (
        isinstance(statement_type, HANDLED)
        or getattr(statement_type, "if_exists", False)
        or getattr(statement_type, "temporary", False)
    ):
        return False
    spark = SimpleNamespace(conf=SimpleNamespace(get=lambda key, default: mode if "mode" in key else default))
    seen: list[str] = []

    def run(statement: str) -> Any:
        # the query of an INSERT or CREATE TABLE: does it read a stream?
        if statement != sql and not is_query(sql) and (is_query(statement) or statement in sql):
            return SimpleNamespace(isStreaming=False, **{PLAN: SimpleNamespace(walk_all=lambda: ())})
        seen.append(statement)
        return None

    dispatch(cast("Any", spark), cast("Any", NoTables()), sql, run)
    require(len(seen) == 1, seen)
    require(seen == [sql] or has_flink_syntax(sql), seen)
    return True


def fuzz_create(sql: str) -> str:
    """Parse a CREATE TABLE statement, and check that it can be rendered and parsed again."""
    table = parse_create(sql)
    text = render_create_table(table)
    assert isinstance(classify(text), st.CreateTable)
    assert parse_create(text) == table
    render_masked(table)
    return "declared"


def fuzz_alter(sql: str) -> str:
    """Apply an ALTER TABLE statement to an existing table."""
    alteration = parse_alteration(sql)
    if isinstance(alteration.change, RenameTable):
        return "renamed"
    table = to_table(apply_alteration(to_declaration(parse_create(_BASE)), alteration))
    assert parse_create(render_create_table(table)) == table
    return "altered"


def outcome_of(sql: str, process: Callable[[str], str]) -> str:
    """Return the outcome of a statement. A syntax error must have a position."""
    try:
        return process(sql)
    except SqlSyntaxError as e:
        require(1 <= e.line <= sql.count("\n") + 1)
        require(e.column >= 1)
        return "syntax error"
    except KafkaSqlError as e:
        require(str(e).startswith(f"[{e.condition()}] "))
        return e.condition().lower()


def read_as_spark_statement(sql: str) -> None:
    """Apply all parsers that also read Spark's statements."""
    is_query(sql)
    for parse in (
        lambda text: find_table_references(QueryText(text)),
        lambda text: has_options_hint(QueryText(text)),
        lambda text: check_hint_positions(QueryText(text), []),
        lambda text: parse_hint(text, 1),
    ):
        try:
            parse(sql)
        except KafkaSqlError as e:
            require(bool(e.args), "an error without a message")
    list(split(sql))


@cache
def corpus() -> tuple[list[str], list[str]]:
    """Return the statements of the examples and the tests, and the words in them."""
    files = [*_ROOT.glob("ddl_examples/**/*.sql"), *_ROOT.glob("tests/sql/**/*.sql")]
    texts = sorted({part.strip() for file in files for part in re.split(r";\s*\n", file.read_text()) if part.strip()})
    words = sorted({word for text in texts for word in re.findall(r"\w+|'[^'\n]*'|[^\w\s]", text)})
    return texts, words


def fuzz_statement(rng: random.Random) -> str:
    """Process a mutated statement."""
    texts, words = corpus()
    text = rng.choice(texts)
    if rng.random() < 0.2:
        other = rng.choice(texts)
        text = text[: rng.randint(0, len(text))] + other[rng.randint(0, len(other)) :]
    sql = mutate_text(rng, text, words)
    if rng.random() < 0.001:
        sql = lengthen(rng, sql, _LONG)
    read_as_spark_statement(sql)
    statement_type = classify(sql)
    if isinstance(statement_type, st.AlterTable):
        return outcome_of(sql, fuzz_alter)
    if isinstance(statement_type, st.CreateTable):
        return outcome_of(sql, fuzz_create)
    mode = rng.choice(("batch", "streaming"))
    outcome = outcome_of(sql, lambda s: "Spark's" if is_passed_through(s, mode) else type(statement_type).__name__)
    if outcome == "Spark's":
        outcome_of(sql, fuzz_create)  # parsing it as CREATE TABLE must not crash either
    return outcome
