"""The statements that are looked at before they reach Spark, as far as their first words tell."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CreateTable:
    """``CREATE [OR REPLACE] [TEMPORARY] TABLE ... WITH (...) [LIKE base | AS query]``; the parser reads the text.

    Attributes:
        base: of a statement without WITH: LIKE's table. It is Flink's where that is a Kafka table.
    """

    base: tuple[str, ...] | None = None


@dataclass(frozen=True)
class AlterTable:
    """``ALTER TABLE [IF EXISTS] name ...``; the parser reads the text of a Kafka table's."""

    name: tuple[str, ...]
    if_exists: bool = False
    clause_start: int = field(default=0, compare=False)  # where in the text it goes on behind the name
    is_flink_syntax: bool = field(default=False, compare=False)  # it goes on as it never does in Spark


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
        temporary: of this session alone.
        harmless: it takes no table's name away, as IF NOT EXISTS or GLOBAL says.
    """

    name: tuple[str, ...]
    temporary: bool = False
    keeps_tables: bool = False


@dataclass(frozen=True)
class Describe:
    """``DESCRIBE | DESC [TABLE] [EXTENDED] name``."""

    name: tuple[str, ...]


@dataclass(frozen=True)
class ShowTables:
    """``SHOW [FULL] TABLES [FROM | IN database] [[NOT] LIKE 'pattern']``; the pattern is SQL's, with % and _."""

    database: tuple[str, ...] | None = None
    like: str | None = None
    negated: bool = False
    full: bool = False


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


@dataclass(frozen=True)
class StatementSet:
    """``[EXECUTE] STATEMENT SET BEGIN insert; ... END``, or ``BEGIN STATEMENT SET; insert; ... END``.

    Attributes:
        inserts: the statements in it as typed.
        ended: END was found.
    """

    inserts: tuple[str, ...]
    has_end: bool = True


@dataclass(frozen=True)
class Execute:
    """``EXECUTE insert | query``: the statement itself."""

    statement: str


@dataclass(frozen=True)
class Explain:
    """``EXPLAIN [PLAN FOR | details | mode] statement``.

    Attributes:
        mode: Spark's, or the one that is nearest to Flink's details; empty for none.
        statement: what is explained.
        sparks: the statement is one of Spark's own words.
    """

    mode: str
    statement: str
    is_spark_syntax: bool


@dataclass(frozen=True)
class UnsupportedStatement:
    """A statement of Spark's or Flink's that a Kafka table does not have, such as DELETE.

    Attributes:
        verb: its first words.
        name: the table.
    """

    verb: str
    name: tuple[str, ...]
