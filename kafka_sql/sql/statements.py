"""Which statements are Flink's and carried out here, told from their first words.

Every statement of a session comes by, so a foreign one must cost next to nothing: lexemes are read one at a time and
only as far as needed, and nothing is parsed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kafka_sql.sql import lexer
from kafka_sql.sql.head import Head
from kafka_sql.sql.insert_head import Insert, insert_head

__all__ = [
    "CreateTable",
    "Describe",
    "DropTable",
    "Insert",
    "ResetOption",
    "SetOption",
    "ShowCreate",
    "ShowJobs",
    "ShowTables",
    "Statement",
    "StopJob",
    "is_query",
    "kind",
]


@dataclass(frozen=True)
class CreateTable:
    """``CREATE [TEMPORARY] TABLE ... WITH (...)``; ``parse_create`` reads the text."""


@dataclass(frozen=True)
class DropTable:
    """``DROP [TEMPORARY] TABLE [IF EXISTS] name``."""

    name: tuple[str, ...]
    if_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True)
class Describe:
    """``DESCRIBE | DESC [TABLE] name``."""

    name: tuple[str, ...]


@dataclass(frozen=True)
class ShowTables:
    """``SHOW TABLES [FROM | IN database] [[NOT] LIKE 'pattern']``; the pattern is SQL's, with % and _."""

    database: tuple[str, ...] | None = None
    like: str | None = None
    negated: bool = False


@dataclass(frozen=True)
class ShowCreate:
    """``SHOW CREATE TABLE name``."""

    name: tuple[str, ...]


@dataclass(frozen=True)
class ShowJobs:
    """``SHOW JOBS``."""


@dataclass(frozen=True)
class StopJob:
    """``STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]``."""

    id: str
    savepoint: bool = False
    drain: bool = False


@dataclass(frozen=True)
class SetOption:
    """``SET 'key' = 'value'``. SET without quotes, and SET alone, are Spark's."""

    key: str
    value: str = field(repr=False)  # may be a secret


@dataclass(frozen=True)
class ResetOption:
    """``RESET 'key'``, or RESET alone: all of them, in Flink as in Spark."""

    key: str | None = None


Statement = (
    CreateTable | DropTable | Describe | ShowTables | ShowCreate | ShowJobs | StopJob | SetOption | ResetOption | Insert
)

# What ends the part of a CREATE TABLE in which Flink's WITH can stand; Spark's own statements have one of these first.
_SPARKS_OWN = {"AS", "USING", "OPTIONS", "TBLPROPERTIES", "LOCATION", "STORED", "ROW", "CLUSTERED", "CLUSTER", "SELECT"}


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


def _create(_: str, lexemes: Iterator[lexer.Lexeme]) -> CreateTable | None:
    word = next(lexemes, None)
    while word is not None and word.upper in ("OR", "REPLACE", "TEMPORARY"):
        word = next(lexemes, None)
    if word is None or word.upper != "TABLE":
        return None
    depth, last = 0, word
    for lexeme in lexemes:
        # at any depth, so that a bracket that was forgotten is reported in Flink's terms
        if lexeme.text == "(" and last.upper == "WITH":
            following = next(lexemes, None)
            return CreateTable() if following is None or following.kind in (lexer.STRING, lexer.SYMBOL) else None
        depth += {"(": 1, ")": -1}.get(lexeme.text, 0)
        if depth <= 0 and last.text != "." and last.upper not in ("TABLE", "EXISTS") and lexeme.upper in _SPARKS_OWN:
            return None
        last = lexeme
    return None


def _drop(_: str, lexemes: Iterator[lexer.Lexeme]) -> DropTable | None:
    head = Head(lexemes)
    temporary = head.words("TEMPORARY")
    if not head.words("TABLE"):
        return None
    if_exists = head.words("IF", "EXISTS")
    name = head.name()
    return DropTable(name, if_exists, temporary) if name and head.at_end() else None


def _describe(_: str, lexemes: Iterator[lexer.Lexeme]) -> Describe | None:
    head = Head(lexemes)
    head.words("TABLE")
    name = head.name()  # of DESCRIBE EXTENDED t, DESCRIBE FUNCTION f and so on, something is left
    return Describe(name) if name and head.at_end() else None


def _show(_: str, lexemes: Iterator[lexer.Lexeme]) -> ShowTables | ShowCreate | ShowJobs | None:
    head = Head(lexemes)
    if head.words("JOBS"):
        return ShowJobs() if head.at_end() else None
    if head.words("CREATE", "TABLE"):
        name = head.name()
        return ShowCreate(name) if name and head.at_end() else None
    if not head.words("TABLES"):
        return None
    database = None
    if head.words("FROM") or head.words("IN"):
        database = head.name()
        if not database:
            return None
    negated = head.words("NOT")
    like = head.string() if head.words("LIKE") else None
    return ShowTables(database, like, negated) if head.at_end() and not (negated and like is None) else None


def _stop(_: str, lexemes: Iterator[lexer.Lexeme]) -> StopJob | None:
    head = Head(lexemes)
    id = head.string() if head.words("JOB") else None
    savepoint = head.words("WITH", "SAVEPOINT")
    drain = head.words("WITH", "DRAIN")
    return StopJob(id, savepoint, drain) if id is not None and head.at_end() else None


def _set(_: str, lexemes: Iterator[lexer.Lexeme]) -> SetOption | None:
    head = Head(lexemes)
    key = head.string()
    value = head.string() if key is not None and head.symbol("=") else None
    return SetOption(key, value) if key is not None and value is not None and head.at_end() else None


def _reset(_: str, lexemes: Iterator[lexer.Lexeme]) -> ResetOption | None:
    head = Head(lexemes)
    key = head.string()
    return ResetOption(key) if head.at_end() else None


def _insert(sql: str, lexemes: Iterator[lexer.Lexeme]) -> Insert | None:
    return insert_head(sql, lexemes)


_READERS = {
    "CREATE": _create,
    "DROP": _drop,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "SHOW": _show,
    "STOP": _stop,
    "SET": _set,
    "RESET": _reset,
    "INSERT": _insert,
}
