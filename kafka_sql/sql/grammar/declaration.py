"""What a CREATE TABLE or an ALTER TABLE says, as it was typed: not yet whether it makes sense."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from kafka_sql.sql.grammar.types import FlinkType


@dataclass(frozen=True)
class ColumnDeclaration:
    """One column: physical or metadata with a type, or computed with an expression."""

    name: str
    text: str  # the type or the expression as typed
    type: FlinkType | None = None
    expression: exp.Expr | None = None
    metadata: str | None = None
    virtual: bool = False
    comment: str | None = None

    @property
    def is_physical(self) -> bool:
        """Whether the column is a field of the payload."""
        return self.type is not None and self.metadata is None


@dataclass(frozen=True)
class KeyDeclaration:
    """One PRIMARY KEY, of a column or of the table."""

    columns: tuple[str, ...]
    is_enforced: bool  # NOT ENFORCED is absent
    name: str | None = None  # CONSTRAINT name


@dataclass(frozen=True)
class WatermarkDeclaration:
    """``WATERMARK FOR column AS expression``."""

    column: str
    expression: exp.Expr
    text: str


@dataclass(frozen=True)
class LikeDeclaration:
    """``LIKE base (INCLUDING ALL ...)``: the base, and pairs such as ``("INCLUDING", "ALL")`` as typed."""

    base: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()


@dataclass
class Declaration:
    """One CREATE TABLE as it was typed, in its order."""

    name: tuple[str, ...]
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False
    columns: list[ColumnDeclaration] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)  # columns without a type, of CREATE TABLE ... AS
    keys: list[KeyDeclaration] = field(default_factory=list)
    watermarks: list[WatermarkDeclaration] = field(default_factory=list)
    options: list[tuple[str, str]] | None = field(default=None, repr=False)  # may hold secrets; None without WITH
    comment: str | None = None
    like: LikeDeclaration | None = None
    query: str | None = None  # behind AS, unchanged, without the semicolon at its end
    unsupported: str | None = None  # the clause at which reading stopped


@dataclass(frozen=True)
class ColumnPosition:
    """Where ALTER TABLE puts a column: ``FIRST`` (``after`` is None) or ``AFTER column``."""

    after: str | None = None


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
    """``ADD`` or ``MODIFY`` of columns with their places, keys and watermarks."""

    is_modify: bool
    columns: tuple[tuple[ColumnDeclaration, ColumnPosition | None], ...]
    keys: tuple[KeyDeclaration, ...]
    watermarks: tuple[WatermarkDeclaration, ...]


Change = RenameTable | RenameColumn | SetOptions | ResetOptions | DropColumns | DropKey | DropWatermark | AddOrModify


@dataclass(frozen=True)
class Alteration:
    """One ALTER TABLE as it was typed."""

    name: tuple[str, ...]
    if_exists: bool
    change: Change
