"""A declared table: what CREATE TABLE says, in Spark's words. Plain data, shared by every package below sql."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Column:
    """One column of a table.

    A column is *physical* (a field of the payload), *metadata* (``METADATA [FROM 'key'] [VIRTUAL]``) or *computed*
    (``name AS expression``); the last has an expression and no place in Kafka.
    """

    name: str
    type: str | None  # Spark SQL type (``DECIMAL(10,2)``); None for a computed column
    declared: str  # as Flink spells it: the type, or the expression of a computed column
    nullable: bool = True
    comment: str | None = None
    metadata: str | None = None  # Kafka's metadata key
    virtual: bool = False  # metadata that is read and never written
    expression: str | None = None  # Spark SQL expression of a computed column

    @property
    def is_physical(self) -> bool:
        """Whether the column is a field of the payload."""
        return self.metadata is None and self.expression is None

    @property
    def is_persisted(self) -> bool:
        """Whether INSERT INTO writes the column (Flink's word for it)."""
        return self.expression is None and not self.virtual


@dataclass(frozen=True)
class Watermark:
    """``WATERMARK FOR column AS expression``."""

    column: str
    delay: str  # Spark interval without the word INTERVAL: ``'5' SECOND``
    declared: str  # the expression as Flink spells it


@dataclass(frozen=True)
class Table:
    """One CREATE TABLE statement, understood but not yet checked against the options table."""

    name: tuple[str, ...]  # ``(table,)`` or ``(database, table)`` as typed
    columns: tuple[Column, ...]
    options: Mapping[str, str] = field(repr=False)  # may hold secrets
    primary_key: tuple[str, ...] = ()
    watermark: Watermark | None = None
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False
    primary_key_name: str | None = None  # CONSTRAINT name, where one was given

    @property
    def stored_columns(self) -> tuple[Column, ...]:
        """The columns that the data source reads: all but the computed ones."""
        return tuple(c for c in self.columns if c.expression is None)

    @property
    def computed_columns(self) -> tuple[Column, ...]:
        """The columns that Spark computes from the stored ones."""
        return tuple(c for c in self.columns if c.expression is not None)

    @property
    def persisted_columns(self) -> tuple[Column, ...]:
        """The columns that INSERT INTO writes, in the declared order."""
        return tuple(c for c in self.columns if c.is_persisted)

    @property
    def physical_columns(self) -> tuple[Column, ...]:
        """The columns that are fields of the payload."""
        return tuple(c for c in self.columns if c.is_physical)
