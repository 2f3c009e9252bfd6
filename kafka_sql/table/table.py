"""Describe a table: the content of CREATE TABLE as plain data, used by all packages below sql."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Column:
    """One column of a table.

    A column is *physical* (a field of the payload), *metadata* (``METADATA [FROM 'key'] [VIRTUAL]``) or *computed*
    (``name AS expression``). A computed column has an expression and is not stored in Kafka.
    """

    name: str
    type: str | None  # Spark SQL type (``DECIMAL(10,2)``); None for a computed column
    declared: str  # as written in Flink's DDL: the type, or the expression of a computed column
    nullable: bool = True
    comment: str | None = None
    metadata: str | None = None  # Kafka's metadata key
    virtual: bool = False  # metadata that is read but never written
    expression: str | None = None  # Spark SQL expression of a computed column

    @property
    def is_physical(self) -> bool:
        """Whether the column is a field of the payload."""
        return self.metadata is None and self.expression is None

    @property
    def is_persisted(self) -> bool:
        """Whether INSERT INTO writes the column (Flink's term)."""
        return self.expression is None and not self.virtual


@dataclass(frozen=True)
class EventTimeSource:
    """What an event time is computed from: a larger value of it is a later time, or the same one.

    For ``ts AS TO_TIMESTAMP_LTZ(event.millis, 3)``, it is ``EventTimeSource(("event", "millis"), 1000.0)``.
    """

    path: tuple[str, ...]  # a source column, and the fields in it
    unit: float | None = None  # microseconds per 1, if it is a number; None if that is not known


@dataclass(frozen=True)
class Watermark:
    """``WATERMARK FOR column AS expression``."""

    column: str
    delay: str  # Spark interval without the keyword INTERVAL: ``'5' SECOND``
    declared: str  # the expression as written in Flink's DDL
    has_time_zone: bool  # whether the column is TIMESTAMP_LTZ(p), not TIMESTAMP(p)
    source: EventTimeSource | None = None  # None if the order of event times follows from no source column


@dataclass(frozen=True)
class Table:
    """A table with its columns and options. The options have not been validated yet.

    ``Declaration`` (as parsed) -> ``Table`` (checked columns) -> ``Definition`` (validated options) -> ``CatalogTable``
    (its names in Spark).
    """

    name: tuple[str, ...]  # ``(table,)`` or ``(database, table)`` as written
    columns: tuple[Column, ...]
    options: Mapping[str, str] = field(repr=False)  # may hold secrets
    primary_key: tuple[str, ...] = ()
    watermark: Watermark | None = None
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False
    primary_key_name: str | None = None  # CONSTRAINT name, if declared

    @property
    def source_columns(self) -> tuple[Column, ...]:
        """The columns that the data source reads: physical and metadata columns."""
        return tuple(c for c in self.columns if c.expression is None)

    @property
    def computed_columns(self) -> tuple[Column, ...]:
        """The columns that Spark computes from the source columns."""
        return tuple(c for c in self.columns if c.expression is not None)

    @property
    def persisted_columns(self) -> tuple[Column, ...]:
        """The columns that INSERT INTO writes, in declaration order."""
        return tuple(c for c in self.columns if c.is_persisted)

    @property
    def physical_columns(self) -> tuple[Column, ...]:
        """The columns that are fields of the payload."""
        return tuple(c for c in self.columns if c.is_physical)
