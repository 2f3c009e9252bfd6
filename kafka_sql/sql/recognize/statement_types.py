"""Define the statements that kafka_sql classifies before they reach Spark, and what is known from their first words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from kafka_sql.sql.recognize.query_text import QueryText


class Statement:
    """A statement that kafka_sql may have to run."""


@dataclass(frozen=True)
class TableStatement(Statement):
    """A statement about one table, view or database."""

    name: tuple[str, ...]  # its parts as written


@dataclass(frozen=True)
class CreateTable(Statement):
    """``CREATE [OR REPLACE] [TEMPORARY] TABLE ... WITH (...) [LIKE base | AS query]``.

    The grammar package parses the text.

    Attributes:
        base: the table after LIKE in a statement without WITH. The statement is Flink's if this is a Kafka table.
    """

    base: tuple[str, ...] | None = None


@dataclass(frozen=True)
class AlterTable(TableStatement):
    """``ALTER TABLE [IF EXISTS] name ...``. For a Kafka table, the grammar package parses the text."""

    if_exists: bool = False
    clause_start: int = field(default=0, compare=False)  # offset of the text after the name
    is_flink_syntax: bool = field(default=False, compare=False)  # the clause exists in Flink's grammar only


@dataclass(frozen=True)
class DropTable(TableStatement):
    """``DROP [TEMPORARY] TABLE [IF EXISTS] name``."""

    if_exists: bool = False
    temporary: bool = False


class DropDatabase(TableStatement):
    """``DROP DATABASE | SCHEMA [IF EXISTS] name CASCADE``; without CASCADE it is Spark's."""


@dataclass(frozen=True)
class CreateView(TableStatement):
    """``CREATE [OR REPLACE] [[GLOBAL] TEMPORARY] VIEW [IF NOT EXISTS] name``, with or without AS."""

    temporary: bool = False  # whether only this session sees the view
    keeps_tables: bool = False  # whether the view can never replace or hide a table (IF NOT EXISTS or GLOBAL)


@dataclass(frozen=True)
class Describe(TableStatement):
    """``DESCRIBE | DESC [TABLE] [EXTENDED | FORMATTED] name``."""

    extended: bool = False


@dataclass(frozen=True)
class ShowTables(Statement):
    """``SHOW [FULL] TABLES [FROM | IN database] [[NOT] LIKE 'pattern']``, with a SQL LIKE pattern."""

    database: tuple[str, ...] | None = None
    like: str | None = None
    negated: bool = False
    full: bool = False


@dataclass(frozen=True)
class ShowViews(Statement):
    """``SHOW VIEWS ...``, in Spark's syntax."""


@dataclass(frozen=True)
class ShowColumns(TableStatement):
    """``SHOW COLUMNS FROM | IN name [[NOT] LIKE 'pattern']``."""

    like: str | None = None
    negated: bool = False


class ShowCreate(TableStatement):
    """``SHOW CREATE TABLE name``."""


class ShowCreateView(TableStatement):
    """``SHOW CREATE VIEW name``."""


@dataclass(frozen=True)
class ShowCurrent(Statement):
    """``SHOW CURRENT CATALOG`` or ``SHOW CURRENT DATABASE``."""

    is_catalog: bool


@dataclass(frozen=True)
class UseCatalog(Statement):
    """``USE CATALOG name``; Spark's statement is ``SET CATALOG``."""

    name: str


class UseDatabase(TableStatement):
    """``USE [catalog.]database``, for Flink's ``default_catalog`` and ``default_database``."""


@dataclass(frozen=True)
class DropTemporaryView(TableStatement):
    """``DROP TEMPORARY VIEW [IF EXISTS] name``."""

    if_exists: bool = False


@dataclass(frozen=True)
class ShowJobs(Statement):
    """``SHOW JOBS [EXTENDED]``."""

    extended: bool = False


@dataclass(frozen=True)
class StopJob(Statement):
    """``STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]``."""

    id: str
    savepoint: bool = False
    drain: bool = False


@dataclass(frozen=True)
class SetOption(Statement):
    """``SET 'key' = 'value'``. SET without quotes, and SET alone, are Spark's."""

    key: str
    value: str = field(repr=False)  # may be a secret


@dataclass(frozen=True)
class ResetOption(Statement):
    """``RESET 'key'``, or RESET alone, which resets all options in both Flink and Spark."""

    key: str | None = None


@dataclass(frozen=True)
class StatementSet(Statement):
    """``[EXECUTE] STATEMENT SET BEGIN insert; ... END``, or ``BEGIN STATEMENT SET; insert; ... END``.

    Attributes:
        inserts: the INSERT statements as written.
        has_end: whether END was found.
    """

    inserts: tuple[str, ...] = field(repr=False)  # hints may contain secrets
    has_end: bool = True


@dataclass(frozen=True)
class Execute(Statement):
    """``EXECUTE insert | query``, with the statement after EXECUTE."""

    statement: str = field(repr=False)


@dataclass(frozen=True)
class Explain(Statement):
    """``EXPLAIN [PLAN FOR | details | mode] statement``."""

    mode: str  # a mode of Spark's EXPLAIN, the closest one for Flink's details, or empty
    statement: str = field(repr=False)  # the statement to explain
    is_spark_syntax: bool  # whether EXPLAIN itself is written in Spark's syntax


@dataclass(frozen=True)
class FlinkStatement(Statement):
    """A statement of Flink that neither Spark nor this package has."""

    verb: str  # the first words of the statement


@dataclass(frozen=True)
class UnsupportedStatement(Statement):
    """A Spark or Flink statement that Kafka tables do not support, such as DELETE."""

    verb: str  # the first words of the statement
    name: tuple[str, ...]  # the table name


@dataclass(frozen=True)
class Insert(Statement):
    """``INSERT INTO | OVERWRITE [TABLE] name [PARTITION (...)] [(columns) | BY NAME] query [ON CONFLICT DO ...]``.

    Attributes:
        name: the parts of the table name as written.
        body: the query, unchanged, without ``ON CONFLICT DO ...`` and the trailing semicolon.
        overwrite: INSERT OVERWRITE.
        columns: the explicit list, or None.
        by_name: whether ``BY NAME`` precedes the query.
        partition: the text of ``PARTITION (...)``, or None.
        hint_text: the text after the table name if it contains a hint, else empty.
        prefix: the statement from INSERT up to the query, as written.
        conflict: DEDUPLICATE, ERROR or NOTHING of ``ON CONFLICT DO ...``; None without this clause.
    """

    name: tuple[str, ...]
    body: str = field(repr=False)  # hints may contain secrets
    overwrite: bool = False
    columns: tuple[str, ...] | None = None
    by_name: bool = False
    partition: str | None = None
    hint_text: str = field(default="", repr=False)
    prefix: str = field(default="", repr=False, compare=False)
    conflict: str | None = None

    @cached_property
    def query(self) -> QueryText:
        """The body, which is read once, however often it is rewritten."""
        return QueryText(self.body)
