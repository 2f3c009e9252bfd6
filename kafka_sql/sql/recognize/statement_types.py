"""Define the statements that kafka_sql classifies before they reach Spark, and what is known from their first words."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CreateTable:
    """``CREATE [OR REPLACE] [TEMPORARY] TABLE ... WITH (...) [LIKE base | AS query]``.

    The grammar package parses the text.

    Attributes:
        base: the table after LIKE in a statement without WITH. The statement is Flink's if this is a Kafka table.
    """

    base: tuple[str, ...] | None = None


@dataclass(frozen=True)
class AlterTable:
    """``ALTER TABLE [IF EXISTS] name ...``. For a Kafka table, the grammar package parses the text."""

    name: tuple[str, ...]
    if_exists: bool = False
    clause_start: int = field(default=0, compare=False)  # offset of the text after the name
    is_flink_syntax: bool = field(default=False, compare=False)  # the clause exists in Flink's grammar only


@dataclass(frozen=True)
class DropTable:
    """``DROP [TEMPORARY] TABLE [IF EXISTS] name``."""

    name: tuple[str, ...]
    if_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True)
class DropDatabase:
    """``DROP DATABASE | SCHEMA [IF EXISTS] name CASCADE``; without CASCADE it is Spark's."""

    name: tuple[str, ...]


@dataclass(frozen=True)
class CreateView:
    """``CREATE [OR REPLACE] [[GLOBAL] TEMPORARY] VIEW [IF NOT EXISTS] name``, with or without AS.

    Attributes:
        temporary: whether only this session sees the view.
        keeps_tables: whether the view can never replace or hide a table (IF NOT EXISTS or GLOBAL).
    """

    name: tuple[str, ...]
    temporary: bool = False
    keeps_tables: bool = False


@dataclass(frozen=True)
class Describe:
    """``DESCRIBE | DESC [TABLE] [EXTENDED | FORMATTED] name``."""

    name: tuple[str, ...]
    extended: bool = False


@dataclass(frozen=True)
class ShowTables:
    """``SHOW [FULL] TABLES [FROM | IN database] [[NOT] LIKE 'pattern']``, with a SQL LIKE pattern."""

    database: tuple[str, ...] | None = None
    like: str | None = None
    negated: bool = False
    full: bool = False


@dataclass(frozen=True)
class ShowViews:
    """``SHOW VIEWS ...``, in Spark's syntax."""


@dataclass(frozen=True)
class ShowColumns:
    """``SHOW COLUMNS FROM | IN name [[NOT] LIKE 'pattern']``."""

    name: tuple[str, ...]
    like: str | None = None
    negated: bool = False


@dataclass(frozen=True)
class ShowCreate:
    """``SHOW CREATE TABLE name``."""

    name: tuple[str, ...]


@dataclass(frozen=True)
class ShowCreateView:
    """``SHOW CREATE VIEW name``."""

    name: tuple[str, ...]


@dataclass(frozen=True)
class ShowCurrent:
    """``SHOW CURRENT CATALOG`` or ``SHOW CURRENT DATABASE``."""

    is_catalog: bool


@dataclass(frozen=True)
class UseCatalog:
    """``USE CATALOG name``; Spark's statement is ``SET CATALOG``."""

    name: str


@dataclass(frozen=True)
class UseDatabase:
    """``USE [catalog.]database``, for Flink's ``default_catalog`` and ``default_database``."""

    name: tuple[str, ...]


@dataclass(frozen=True)
class DropTemporaryView:
    """``DROP TEMPORARY VIEW [IF EXISTS] name``."""

    name: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class ShowJobs:
    """``SHOW JOBS [EXTENDED]``."""

    extended: bool = False


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
    """``RESET 'key'``, or RESET alone, which resets all options in both Flink and Spark."""

    key: str | None = None


@dataclass(frozen=True)
class StatementSet:
    """``[EXECUTE] STATEMENT SET BEGIN insert; ... END``, or ``BEGIN STATEMENT SET; insert; ... END``.

    Attributes:
        inserts: the INSERT statements as written.
        has_end: whether END was found.
    """

    inserts: tuple[str, ...] = field(repr=False)  # hints may contain secrets
    has_end: bool = True


@dataclass(frozen=True)
class Execute:
    """``EXECUTE insert | query``, with the statement after EXECUTE."""

    statement: str = field(repr=False)


@dataclass(frozen=True)
class Explain:
    """``EXPLAIN [PLAN FOR | details | mode] statement``.

    Attributes:
        mode: a mode of Spark's EXPLAIN, the closest one for Flink's details, or empty.
        statement: the statement to explain.
        is_spark_syntax: whether EXPLAIN itself is written in Spark's syntax.
    """

    mode: str
    statement: str = field(repr=False)
    is_spark_syntax: bool


@dataclass(frozen=True)
class FlinkStatement:
    """A statement of Flink that neither Spark nor this package has.

    Attributes:
        verb: the first words of the statement.
    """

    verb: str


@dataclass(frozen=True)
class UnsupportedStatement:
    """A Spark or Flink statement that Kafka tables do not support, such as DELETE.

    Attributes:
        verb: the first words of the statement.
        name: the table name.
    """

    verb: str
    name: tuple[str, ...]
