"""Classify statements by their first words: which ones kafka_sql runs itself, and which ones go to Spark.

Every statement of a session passes through here, so the cost for Spark's own statements must be negligible: tokens are
read one at a time and only as far as needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.classify_create import classify_create, classify_replace
from kafka_sql.sql.recognize.classify_insert import Insert, classify_insert, classify_with
from kafka_sql.sql.recognize.compound_statements import (
    classify_begin,
    classify_execute,
    classify_explain,
    classify_statement_set,
)
from kafka_sql.sql.recognize.flink_statements import classify_flink
from kafka_sql.sql.recognize.statement_types import (
    AlterTable,
    CreateTable,
    CreateView,
    Describe,
    DropDatabase,
    DropTable,
    DropTemporaryView,
    Execute,
    Explain,
    FlinkStatement,
    ResetOption,
    SetOption,
    ShowColumns,
    ShowCreate,
    ShowCreateView,
    ShowCurrent,
    ShowJobs,
    ShowTables,
    ShowViews,
    StatementSet,
    StopJob,
    UnsupportedStatement,
    UseCatalog,
    UseDatabase,
)
from kafka_sql.sql.recognize.token_cursor import TokenCursor

__all__ = [
    "AlterTable",
    "CreateTable",
    "CreateView",
    "Describe",
    "DropDatabase",
    "DropTable",
    "DropTemporaryView",
    "Execute",
    "Explain",
    "FlinkStatement",
    "Insert",
    "ResetOption",
    "SetOption",
    "ShowColumns",
    "ShowCreate",
    "ShowCreateView",
    "ShowCurrent",
    "ShowJobs",
    "ShowTables",
    "ShowViews",
    "Statement",
    "StatementSet",
    "StopJob",
    "UnsupportedStatement",
    "UseCatalog",
    "UseDatabase",
    "classify",
    "is_query",
]

Statement = (
    AlterTable
    | CreateTable
    | CreateView
    | Describe
    | DropDatabase
    | DropTable
    | DropTemporaryView
    | Execute
    | Explain
    | FlinkStatement
    | Insert
    | UnsupportedStatement
    | ResetOption
    | SetOption
    | ShowColumns
    | ShowCreate
    | ShowCreateView
    | ShowCurrent
    | ShowJobs
    | ShowTables
    | ShowViews
    | StatementSet
    | StopJob
    | UseCatalog
    | UseDatabase
)


def classify(sql: str) -> Statement | None:
    """Return the statement if kafka_sql may have to run it, or None if it is always Spark's.

    Tables are not looked up: DROP, DESCRIBE and INSERT statements for Spark's tables are returned too.
    """
    tokens = lexer.tokenize_flink(sql)
    first = next(tokens, None)
    if first is None:
        return None
    if first.upper in _MAY_BE_FLINKS and (statement := classify_flink(sql)) is not None:
        return statement
    classifier = _CLASSIFIERS.get(first.upper)
    return classifier(sql, tokens) if classifier is not None else None


def is_query(sql: str) -> bool:
    """Return whether the statement is a query, judging by its first word."""
    for token in lexer.tokenize_flink(sql):
        if token.text != "(":
            return token.upper in ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
    return False


def _classify_alter(_: str, tokens: Iterator[lexer.Token]) -> AlterTable | UnsupportedStatement | None:
    cursor = TokenCursor(tokens)
    if cursor.take_words("VIEW"):
        name = cursor.take_name()
        return UnsupportedStatement("ALTER VIEW", name) if name else None
    if not cursor.take_words("TABLE"):
        return None
    if_exists = cursor.take_words("IF", "EXISTS")
    name = cursor.take_name()
    return AlterTable(name, if_exists, cursor.end, _is_flink_syntax(cursor)) if name else None


def _is_flink_syntax(cursor: TokenCursor) -> bool:
    """Return whether the clause after the table name exists in Flink's ALTER TABLE only."""
    first, second = cursor.peek(), cursor.peek(1)
    if first is None or second is None:
        return False
    if first.upper in ("MODIFY", "RESET"):
        return True
    is_list = second.text == "(" or (second.type == lexer.STRING and first.upper == "SET")
    return first.upper in ("SET", "ADD", "DROP") and (is_list or second.upper == "WATERMARK")


def _classify_drop(
    _: str, tokens: Iterator[lexer.Token]
) -> DropDatabase | DropTable | DropTemporaryView | UnsupportedStatement | None:
    cursor = TokenCursor(tokens)
    if cursor.take_words("DATABASE") or cursor.take_words("SCHEMA"):
        cursor.take_words("IF", "EXISTS")
        name = cursor.take_name()
        return DropDatabase(name) if name and cursor.take_words("CASCADE") and cursor.is_at_end() else None
    temporary = cursor.take_words("TEMPORARY")
    view = cursor.take_words("VIEW")
    if not view and not cursor.take_words("TABLE"):
        return None
    if_exists = cursor.take_words("IF", "EXISTS")
    name = cursor.take_name()
    if view and temporary:
        return DropTemporaryView(name, if_exists) if name and cursor.is_at_end() else None
    if view:
        return UnsupportedStatement("DROP VIEW", name) if name else None
    cursor.take_words("PURGE")  # Spark's option; a Kafka table has nothing to purge
    return DropTable(name, if_exists, temporary) if name and cursor.is_at_end() else None


def _classify_describe(_: str, tokens: Iterator[lexer.Token]) -> Describe | None:
    cursor = TokenCursor(tokens)
    cursor.take_words("TABLE")
    following = cursor.peek(1)
    extended = False
    if following is not None and following.type in (lexer.WORD, lexer.QUOTED):
        extended = cursor.take_words("EXTENDED") or cursor.take_words("FORMATTED")
    # DESCRIBE FUNCTION f and similar statements have more tokens, so is_at_end() returns False
    name = cursor.take_name()
    return Describe(name, extended) if name and cursor.is_at_end() else None


_Show = ShowTables | ShowViews | ShowColumns | ShowCreate | ShowCreateView | ShowCurrent | ShowJobs


def _classify_show(_: str, tokens: Iterator[lexer.Token]) -> _Show | None:
    cursor = TokenCursor(tokens)
    if cursor.take_words("VIEWS"):
        return ShowViews()
    if cursor.take_words("CREATE", "VIEW"):
        name = cursor.take_name()
        return ShowCreateView(name) if name and cursor.is_at_end() else None
    if cursor.take_words("CURRENT"):
        is_catalog = cursor.take_words("CATALOG")
        is_known = is_catalog or cursor.take_words("DATABASE")
        return ShowCurrent(is_catalog) if is_known and cursor.is_at_end() else None
    if cursor.take_words("CREATE", "TABLE"):
        name = cursor.take_name()
        return ShowCreate(name) if name and cursor.is_at_end() else None
    if cursor.take_words("JOBS"):
        extended = cursor.take_words("EXTENDED")
        return ShowJobs(extended) if cursor.is_at_end() else None
    if cursor.take_words("COLUMNS"):
        name = cursor.take_name() if cursor.take_words("FROM") or cursor.take_words("IN") else ()
        like = _take_like(cursor)
        return ShowColumns(name, *like) if name and like is not None else None
    full = cursor.take_words("FULL", "TABLES")
    if not full and not cursor.take_words("TABLES"):
        return None
    database = None
    if cursor.take_words("FROM") or cursor.take_words("IN"):
        database = cursor.take_name()
        if not database:
            return None
    like = _take_like(cursor)
    return ShowTables(database, *like, full) if like is not None else None


def _take_like(cursor: TokenCursor) -> tuple[str | None, bool] | None:
    """Take ``[[NOT] LIKE 'pattern']`` at the end of the statement; return None if something else follows."""
    negated = cursor.take_words("NOT")
    like = cursor.take_string() if cursor.take_words("LIKE") else None
    return (like, negated) if cursor.is_at_end() and not (negated and like is None) else None


def _classify_set(_: str, tokens: Iterator[lexer.Token]) -> SetOption | None:
    cursor = TokenCursor(tokens)
    key = cursor.take_string()
    value = cursor.take_string() if key is not None and cursor.take_symbol("=") else None
    return SetOption(key, value) if key is not None and value is not None and cursor.is_at_end() else None


def _classify_reset(_: str, tokens: Iterator[lexer.Token]) -> ResetOption | None:
    cursor = TokenCursor(tokens)
    key = cursor.take_string()
    return ResetOption(key) if cursor.is_at_end() else None


def _classify_use(_: str, tokens: Iterator[lexer.Token]) -> UseCatalog | UseDatabase | None:
    cursor = TokenCursor(tokens)
    following = cursor.peek(1)
    if following is not None and following.type in (lexer.WORD, lexer.QUOTED) and cursor.take_words("CATALOG"):
        name = cursor.take_name()
        return UseCatalog(name[0]) if len(name) == 1 and cursor.is_at_end() else None
    name = cursor.take_name()
    is_flink_name = name[:1] != () and name[0].lower() in ("default_catalog", "default_database")
    return UseDatabase(name) if is_flink_name and cursor.is_at_end() else None


def _classify_stop(_: str, tokens: Iterator[lexer.Token]) -> StopJob | None:
    cursor = TokenCursor(tokens)
    id = cursor.take_string() if cursor.take_words("JOB") else None
    savepoint = cursor.take_words("WITH", "SAVEPOINT")
    drain = cursor.take_words("WITH", "DRAIN")
    return StopJob(id, savepoint, drain) if id is not None and cursor.is_at_end() else None


def _unsupported(verb: str, *words: str) -> Callable[[str, Iterator[lexer.Token]], UnsupportedStatement | None]:
    """Return a classifier for statements that start with these words, followed by a table name."""

    def classify_unsupported(_: str, tokens: Iterator[lexer.Token]) -> UnsupportedStatement | None:
        cursor = TokenCursor(tokens)
        name = cursor.take_name() if cursor.take_words(*words) else ()
        return UnsupportedStatement(" ".join((verb, *words)), name) if name else None

    return classify_unsupported


_MAY_BE_FLINKS: Final = ("COMPILE", "EXECUTE", "CREATE", "ALTER", "DROP")
_CLASSIFIERS: Final[dict[str, Callable[[str, Iterator[lexer.Token]], Statement | None]]] = {
    "CREATE": classify_create,
    "DROP": _classify_drop,
    "DESCRIBE": _classify_describe,
    "DESC": _classify_describe,
    "SHOW": _classify_show,
    "STOP": _classify_stop,
    "USE": _classify_use,
    "SET": _classify_set,
    "RESET": _classify_reset,
    "INSERT": classify_insert,
    "REPLACE": classify_replace,
    "ALTER": _classify_alter,
    "WITH": classify_with,
    "EXPLAIN": classify_explain,
    "EXECUTE": classify_execute,
    "BEGIN": classify_begin,
    "STATEMENT": classify_statement_set,
    "UPDATE": _unsupported("UPDATE"),
    "DELETE": _unsupported("DELETE", "FROM"),
    "MERGE": _unsupported("MERGE", "INTO"),
    "TRUNCATE": _unsupported("TRUNCATE", "TABLE"),
    "ANALYZE": _unsupported("ANALYZE", "TABLE"),
    "COMMENT": _unsupported("COMMENT", "ON", "TABLE"),
}
