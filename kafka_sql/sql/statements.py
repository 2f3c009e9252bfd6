"""Which statements are Flink's and carried out here, told from their first words.

Every statement of a session comes by, so a foreign one must cost next to nothing: lexemes are read one at a time and
only as far as needed, and nothing is parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafka_sql.sql import lexer
from kafka_sql.sql.head import Head
from kafka_sql.sql.insert_head import Insert, insert_behind_ctes, insert_head
from kafka_sql.sql.kinds import (
    AlterTable,
    CreateTable,
    Describe,
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
from kafka_sql.sql.wrappers import begin, execute, explain, statement

__all__ = [
    "AlterTable",
    "CreateTable",
    "Describe",
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
    | Describe
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


def _create(_: str, lexemes: Iterator[lexer.Lexeme]) -> CreateTable | Refused | None:
    replaced = False
    word = next(lexemes, None)
    while word is not None and word.upper in ("OR", "REPLACE", "TEMPORARY", "GLOBAL"):
        replaced |= word.upper == "REPLACE"
        word = next(lexemes, None)
    if replaced and word is not None and word.upper == "VIEW":
        name = Head(lexemes).name()
        return Refused("CREATE OR REPLACE VIEW", name) if name else None
    return _table(lexemes) if word is not None and word.upper == "TABLE" else None


def _replace(_: str, lexemes: Iterator[lexer.Lexeme]) -> CreateTable | None:
    word = next(lexemes, None)
    return _table(lexemes) if word is not None and word.upper == "TABLE" else None


def _table(lexemes: Iterator[lexer.Lexeme]) -> CreateTable | None:
    """What follows CREATE TABLE: Flink's if WITH and a literal follow, or LIKE and a table."""
    depth, last = 0, "TABLE"
    base: tuple[str, ...] | None = None
    head = Head(lexemes)
    while (lexeme := head.take()) is not None:
        # at any depth, so that a bracket that was forgotten is reported in Flink's terms
        if lexeme.text == "(" and last == "WITH":
            following = head.peek()
            return CreateTable() if following is None or following.kind in (lexer.STRING, lexer.SYMBOL) else None
        if lexeme.text.startswith("/*"):  # a comment that is not closed: what it swallowed is told by a guess
            return CreateTable() if "WITH" in lexeme.text.upper() else None
        depth += {"(": 1, ")": -1}.get(lexeme.text, 0)
        named = last in (".", "TABLE", "EXISTS")
        if depth <= 0 and not named and lexeme.upper in _SPARKS_OWN:
            return None
        if depth == 0 and not named and lexeme.upper == "LIKE" and base is None:
            base = head.name()
        last = lexeme.upper or lexeme.text
    return CreateTable(base) if base else None


def _alter(_: str, lexemes: Iterator[lexer.Lexeme]) -> AlterTable | Refused | None:
    head = Head(lexemes)
    if head.words("VIEW"):
        name = head.name()
        return Refused("ALTER VIEW", name) if name else None
    if not head.words("TABLE"):
        return None
    if_exists = head.words("IF", "EXISTS")
    name = head.name()
    return AlterTable(name, if_exists, head.end) if name else None


def _drop(_: str, lexemes: Iterator[lexer.Lexeme]) -> DropTable | Refused | None:
    head = Head(lexemes)
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


def _insert(sql: str, lexemes: Iterator[lexer.Lexeme]) -> Insert | None:
    return insert_head(sql, lexemes)


def _refused(verb: str, *words: str) -> Callable[[str, Iterator[lexer.Lexeme]], Refused | None]:
    """A reader of statements that start with the verb and these words, and name a table."""

    def read(_: str, lexemes: Iterator[lexer.Lexeme]) -> Refused | None:
        head = Head(lexemes)
        name = head.name() if head.words(*words) else ()
        return Refused(" ".join((verb, *words)), name) if name else None

    return read


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
    "REPLACE": _replace,
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
