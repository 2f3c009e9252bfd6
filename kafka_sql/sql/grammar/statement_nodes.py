"""Nodes of parsed CREATE TABLE and ALTER TABLE statements, as written and not validated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from kafka_sql.sql.grammar.types import FlinkType


@dataclass(frozen=True)
class ColumnDeclaration:
    """A column: physical or metadata with a type, or computed with an expression."""

    name: str
    text: str  # the type or the expression as written
    type: FlinkType | None = None
    expression: exp.Expr | None = None
    metadata: str | None = None
    virtual: bool = False
    comment: str | None = None

    @property
    def is_physical(self) -> bool:
        """Whether the column is a field of the record key or value."""
        return self.type is not None and self.metadata is None


@dataclass(frozen=True)
class KeyDeclaration:
    """A PRIMARY KEY constraint on a column or table."""

    columns: tuple[str, ...]
    is_enforced: bool  # False after NOT ENFORCED
    name: str | None = None  # CONSTRAINT name


@dataclass(frozen=True)
class WatermarkDeclaration:
    """``WATERMARK FOR column AS expression``."""

    column: str
    expression: exp.Expr
    text: str


@dataclass(frozen=True)
class LikeDeclaration:
    """``LIKE base (INCLUDING ALL ...)``; the options are pairs such as ``("INCLUDING", "ALL")``, as written."""

    base: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()


@dataclass
class Declaration:
    """A CREATE TABLE statement as written, in order.

    ``Declaration`` (as parsed) -> ``Table`` (checked columns) -> ``Definition`` (validated options) -> ``CatalogTable``
    (its names in Spark).
    """

    name: tuple[str, ...]
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False
    columns: list[ColumnDeclaration] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)  # column names without a type, of CREATE TABLE ... AS
    keys: list[KeyDeclaration] = field(default_factory=list)
    watermarks: list[WatermarkDeclaration] = field(default_factory=list)
    options: list[tuple[str, str]] | None = field(default=None, repr=False)  # may hold secrets; None without WITH
    comment: str | None = None
    like: LikeDeclaration | None = None
    query: str | None = field(default=None, repr=False)  # after AS, unchanged, without the trailing semicolon
    unsupported: str | None = None  # the clause at which parsing stopped


FIRST: Final = ""  # a position


@dataclass(frozen=True)
class RenameTable:
    """``RENAME TO name``."""

    new_name: tuple[str, ...]


@dataclass(frozen=True)
class RenameColumn:
    """``RENAME old TO new``."""

    old: str
    new: str


@dataclass(frozen=True)
class SetOptions:
    """``SET ('key' = 'value', ...)``."""

    options: tuple[tuple[str, str], ...] = field(repr=False)


@dataclass(frozen=True)
class ResetOptions:
    """``RESET ('key', ...)``."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class DropColumns:
    """``DROP column`` or ``DROP (column, ...)``."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class DropKey:
    """``DROP PRIMARY KEY``, or ``DROP CONSTRAINT name``."""

    constraint: str | None = None


@dataclass(frozen=True)
class DropWatermark:
    """``DROP WATERMARK``."""


@dataclass(frozen=True)
class AddOrModify:
    """``ADD`` or ``MODIFY`` of columns, primary keys and watermarks.

    A column has a position: the column after which it is placed (``AFTER``), ``FIRST``, or None.
    """

    is_modify: bool
    columns: tuple[tuple[ColumnDeclaration, str | None], ...]
    keys: tuple[KeyDeclaration, ...]
    watermarks: tuple[WatermarkDeclaration, ...]


Change = RenameTable | RenameColumn | SetOptions | ResetOptions | DropColumns | DropKey | DropWatermark | AddOrModify


@dataclass(frozen=True)
class Alteration:
    """An ALTER TABLE statement as written."""

    name: tuple[str, ...]
    if_exists: bool
    change: Change
