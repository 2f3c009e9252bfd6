"""ALTER TABLE: a table's declaration with what the statement changes, by Flink's rules and in its words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from kafka_sql.errors import SchemaError, StatementError, UnsupportedSqlError, did_you_mean
from kafka_sql.options.connector import CONNECTOR
from kafka_sql.sql.declarations.alter_components import add_or_modify
from kafka_sql.sql.grammar.declaration import (
    AddOrModify,
    Alteration,
    ColumnDeclaration,
    Declaration,
    DropColumns,
    DropKey,
    DropWatermark,
    RenameColumn,
    ResetOptions,
    SetOptions,
)


def apply_alteration(base: Declaration, alteration: Alteration) -> Declaration:
    """The declaration after the statement; whether it makes sense as a whole is seen when a table is made of it.

    Raises:
        SchemaError: a column, key or watermark that is not there, there already, or still used.
        UnsupportedSqlError: an option that cannot be reset.
    """
    what = f"ALTER TABLE {'.'.join(alteration.name)}"
    match alteration.change:
        case AddOrModify() as components:
            return add_or_modify(base, components, what)
        case DropColumns(columns):
            return _without_columns(base, columns, what)
        case RenameColumn() as renamed:
            return _renamed(base, renamed, what)
        case DropKey(constraint):
            return _without_key(base, constraint, what)
        case DropWatermark():
            if not base.watermarks:
                raise SchemaError(f"{what}: The base table does not define any watermark strategy.")
            return replace(base, watermarks=[])
        case SetOptions(options):
            return _with_options(base, options, what)
        case ResetOptions(keys):
            return _without_options(base, keys, what)
        case _:
            raise AssertionError(alteration.change)


def _without_columns(base: Declaration, names: tuple[str, ...], what: str) -> Declaration:
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"{what}: Duplicate column `{name}`.")
        _check_unused(base, name, what, dropped=names)
        if any(name in key.columns for key in base.keys):
            raise SchemaError(f"{what}: The column `{name}` is used as the primary key. DROP PRIMARY KEY first.")
    return replace(base, columns=[c for c in base.columns if c.name not in names])


def _renamed(base: Declaration, change: RenameColumn, what: str) -> Declaration:
    old, new = change.old, change.new
    _check_unused(base, old, what)
    if any(c.name == new for c in base.columns):
        raise SchemaError(f"{what}: The column `{new}` already existed in table schema.")

    def name(column: str) -> str:
        return new if column == old else column

    return replace(
        base,
        columns=[replace(c, name=name(c.name)) for c in base.columns],
        keys=[replace(k, columns=tuple(map(name, k.columns))) for k in base.keys],
    )


def _without_key(base: Declaration, constraint: str | None, what: str) -> Declaration:
    if not base.keys:
        raise SchemaError(f"{what}: The base table does not define any primary key.")
    key = base.keys[0]
    name = key.name or "PK_" + "_".join(key.columns)  # Flink's own name for one without
    if constraint is not None and constraint != name:
        raise SchemaError(
            f"{what}: The base table does not define a primary key constraint named '{constraint}'. Available "
            f"constraint name: ['{name}']."
        )
    return replace(base, keys=[])


def _check_unused(base: Declaration, name: str, what: str, dropped: Iterable[str] = ()) -> None:
    """Refuse a column that something else uses, other than what is dropped with it."""
    names = [c.name for c in base.columns]
    if name not in names:
        near = did_you_mean(name, names)
        raise SchemaError(f"{what}: The column `{name}` does not exist in the base table.{near}")
    users = sorted(c.name for c in base.columns if c.name not in dropped and name in _used(c))
    if users:
        shown = ", ".join(f"`{u}`" for u in users)
        raise SchemaError(f"{what}: The column `{name}` is referenced by computed column {shown}.")
    if any(name == m.column or name in _columns_of(m.expression) for m in base.watermarks):
        raise SchemaError(f"{what}: The column `{name}` is referenced by watermark expression. DROP WATERMARK first.")


def _used(column: ColumnDeclaration) -> set[str]:
    return _columns_of(column.expression) if column.expression is not None else set()


def _columns_of(expression: exp.Expr) -> set[str]:
    return {node.name for node in expression.find_all(exp.Column)}


def _with_options(base: Declaration, options: tuple[tuple[str, str], ...], what: str) -> Declaration:
    if not options:
        raise StatementError(f"{what} SET does not support empty options. Give at least one 'key' = 'value'.")
    for key, _ in options:
        if [k for k, _ in options].count(key) > 1:
            raise StatementError(f"{what} SET: option '{key}' is given more than once. Keep one.")
    return replace(base, options=list({**dict(base.options or []), **dict(options)}.items()))


def _without_options(base: Declaration, keys: tuple[str, ...], what: str) -> Declaration:
    if not keys:
        raise UnsupportedSqlError("ALTER TABLE RESET does not support empty key. Name at least one option.")
    if CONNECTOR.key in keys:
        raise UnsupportedSqlError(
            f"ALTER TABLE RESET does not support changing 'connector'. {what} SET ('connector' = '...') does."
        )
    return replace(base, options=[(k, v) for k, v in base.options or [] if k not in keys])
