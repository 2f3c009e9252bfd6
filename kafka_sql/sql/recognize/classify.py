"""Which statements are Flink's and carried out here, told from their first words.

Every statement of a session comes by, so a foreign one must cost next to nothing: lexemes are read one at a time and
only as far as needed, and nothing is parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.classify_create import create_head, replace_head
from kafka_sql.sql.recognize.classify_insert import Insert, insert_behind_ctes, insert_head
from kafka_sql.sql.recognize.compound_statements import begin, execute, explain, statement
from kafka_sql.sql.recognize.statement_types import (
    AlterTable,
    CreateTable,
    CreateView,
    Describe,
    DropDatabase,
    DropTable,
    Execute,
    Explain,
    Refused,
    ResetOption,
    SetOption,
    ShowColumns,
    ShowCreate,
    ShowJobs,
    ShowTables,
    StatementSet,
    StopJob,
)
from kafka_sql.sql.recognize.token_cursor import Head

__all__ = [
    "AlterTable",
    "CreateTable",
    "CreateView",
    "Describe",
    "DropDatabase",
    "DropTable",
    "Execute",
    "Explain",
    "Insert",
    "Refused",
    "ResetOption",
    "SetOption",
    "ShowColumns",
    "ShowCreate",
    "ShowJobs",
    "ShowTables",
    "Statement",
    "StatementSet",
    "StopJob",
    "is_query",
    "kind",
]

Statement = (
    AlterTable
    | CreateTable
    | CreateView
    | Describe
    | DropDatabase
    | DropTable
    | Execute
    | Explain
    | Insert
    | Refused
    | ResetOption
    | SetOption
    | ShowColumns
    | ShowCreate
    | ShowJobs
    | ShowTables
    | StatementSet
    | StopJob
)


def kind(sql: str) -> Statement | None:
    """The statement, if it is one of those carried out here; None for all others, which are Spark's own.

    Whether a table is known is not asked: a DROP, DESCRIBE or INSERT of a table of Spark's is told here too.
    """
    lexemes = lexer.flink(sql)
    first = next(lexemes, None)
    reader = _READERS.get(first.upper) if first is not None else None
    return reader(sql, lexemes) if reader is not None else None


def is_query(sql: str) -> bool:
    """Whether the statement is a query, told from its first word."""
    for lexeme in lexer.flink(sql):
        if lexeme.text != "(":
            return lexeme.upper in ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
    return False


def _alter(_: str, lexemes: Iterator[lexer.Lexeme]) -> AlterTable | Refused | None:
    head = Head(lexemes)
    if head.words("VIEW"):
        name = head.name()
        return Refused("ALTER VIEW", name) if name else None
    if not head.words("TABLE"):
        return None
    if_exists = head.words("IF", "EXISTS")
    name = head.name()
    return AlterTable(name, if_exists, head.end, _is_flinks(head)) if name else None


def _is_flinks(head: Head) -> bool:
    """Whether ALTER TABLE goes on behind the name as it never does in Spark."""
    first, second = head.peek(), head.peek(1)
    if first is None or second is None:
        return False
    if first.upper in ("MODIFY", "RESET"):
        return True
    bracketed = second.text == "(" or (second.kind == lexer.STRING and first.upper == "SET")
    return first.upper in ("SET", "ADD", "DROP") and (bracketed or second.upper == "WATERMARK")


def _drop(_: str, lexemes: Iterator[lexer.Lexeme]) -> DropDatabase | DropTable | Refused | None:
    head = Head(lexemes)
    if head.words("DATABASE") or head.words("SCHEMA"):
        head.words("IF", "EXISTS")
        name = head.name()
        return DropDatabase(name) if name and head.words("CASCADE") and head.at_end() else None
    temporary = head.words("TEMPORARY")
    view = head.words("VIEW")
    if not view and not head.words("TABLE"):
        return None
    if_exists = head.words("IF", "EXISTS")
    name = head.name()
    if view:
        return Refused("DROP VIEW", name) if name and not temporary else None
    head.words("PURGE")  # Spark's; there is nothing to purge
    return DropTable(name, if_exists, temporary) if name and head.at_end() else None


def _describe(_: str, lexemes: Iterator[lexer.Lexeme]) -> Describe | None:
    head = Head(lexemes)
    head.words("TABLE")
    following = head.peek(1)
    if following is not None and following.kind in (lexer.WORD, lexer.QUOTED):
        head.words("EXTENDED")
    name = head.name()  # of DESCRIBE FORMATTED t, DESCRIBE FUNCTION f and so on, something is left
    return Describe(name) if name and head.at_end() else None


def _show(_: str, lexemes: Iterator[lexer.Lexeme]) -> ShowTables | ShowColumns | ShowCreate | ShowJobs | None:
    head = Head(lexemes)
    if head.words("CREATE", "TABLE"):
        name = head.name()
        return ShowCreate(name) if name and head.at_end() else None
    if head.words("JOBS"):
        return ShowJobs() if head.at_end() else None
    if head.words("COLUMNS"):
        name = head.name() if head.words("FROM") or head.words("IN") else ()
        found = _like(head)
        return ShowColumns(name, *found) if name and found is not None else None
    full = head.words("FULL", "TABLES")
    if not full and not head.words("TABLES"):
        return None
    database = None
    if head.words("FROM") or head.words("IN"):
        database = head.name()
        if not database:
            return None
    found = _like(head)
    return ShowTables(database, *found, full) if found is not None else None


def _like(head: Head) -> tuple[str | None, bool] | None:
    """``[[NOT] LIKE 'pattern']`` at the statement's end; None where it is something else."""
    negated = head.words("NOT")
    like = head.string() if head.words("LIKE") else None
    return (like, negated) if head.at_end() and not (negated and like is None) else None


def _set(_: str, lexemes: Iterator[lexer.Lexeme]) -> SetOption | None:
    head = Head(lexemes)
    key = head.string()
    value = head.string() if key is not None and head.symbol("=") else None
    return SetOption(key, value) if key is not None and value is not None and head.at_end() else None


def _reset(_: str, lexemes: Iterator[lexer.Lexeme]) -> ResetOption | None:
    head = Head(lexemes)
    key = head.string()
    return ResetOption(key) if head.at_end() else None


def _stop(_: str, lexemes: Iterator[lexer.Lexeme]) -> StopJob | None:
    head = Head(lexemes)
    id = head.string() if head.words("JOB") else None
    savepoint = head.words("WITH", "SAVEPOINT")
    drain = head.words("WITH", "DRAIN")
    return StopJob(id, savepoint, drain) if id is not None and head.at_end() else None


def _refused(verb: str, *words: str) -> Callable[[str, Iterator[lexer.Lexeme]], Refused | None]:
    """A reader of statements that start with the verb and these words, and name a table."""

    def read(_: str, lexemes: Iterator[lexer.Lexeme]) -> Refused | None:
        head = Head(lexemes)
        name = head.name() if head.words(*words) else ()
        return Refused(" ".join((verb, *words)), name) if name else None

    return read


_READERS: Final[dict[str, Callable[[str, Iterator[lexer.Lexeme]], Statement | None]]] = {
    "CREATE": create_head,
    "DROP": _drop,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "SHOW": _show,
    "STOP": _stop,
    "SET": _set,
    "RESET": _reset,
    "INSERT": insert_head,
    "REPLACE": replace_head,
    "ALTER": _alter,
    "WITH": insert_behind_ctes,
    "EXPLAIN": explain,
    "EXECUTE": execute,
    "BEGIN": begin,
    "STATEMENT": statement,
    "UPDATE": _refused("UPDATE"),
    "DELETE": _refused("DELETE", "FROM"),
    "MERGE": _refused("MERGE", "INTO"),
    "TRUNCATE": _refused("TRUNCATE", "TABLE"),
    "ANALYZE": _refused("ANALYZE", "TABLE"),
    "COMMENT": _refused("COMMENT", "ON", "TABLE"),
}
