"""ALTER TABLE ADD and MODIFY: columns at their places, the primary key, the watermark."""

from __future__ import annotations

from dataclasses import replace

from kafka_sql.errors import SchemaError, did_you_mean
from kafka_sql.sql.grammar.declaration import AddOrModify, ColumnDeclaration, ColumnPosition, Declaration


def add_or_modify(base: Declaration, change: AddOrModify, what: str) -> Declaration:
    """The declaration with what ADD adds or MODIFY replaces.

    Raises:
        SchemaError: ADD of what is there, MODIFY of what is not, or a place behind a column that is not there.
    """
    columns = list(base.columns)
    seen: set[str] = set()
    for column, position in change.columns:
        if column.name in seen:
            raise SchemaError(f"{what}: Encounter duplicate column `{column.name}`.")
        seen.add(column.name)
        old = next((c for c in columns if c.name == column.name), None)
        _check_column(base, column.name, old, change.is_modify, what)
        if old is not None and column.comment is None:
            column = replace(column, comment=old.comment)
        _put(columns, column, old, position, what)
    if change.keys:
        _check_key(base, change.is_modify, what)
    if change.watermarks:
        _check_watermark(base, change.is_modify, what)
    return replace(
        base,
        columns=columns,
        keys=list(change.keys) or base.keys,
        watermarks=list(change.watermarks) or base.watermarks,
    )


def _check_column(base: Declaration, name: str, old: ColumnDeclaration | None, modify: bool, what: str) -> None:
    if modify and old is None:
        near = did_you_mean(name, [c.name for c in base.columns])
        raise SchemaError(f"{what}: Try to modify a column `{name}` which does not exist in the table.{near}")
    if not modify and old is not None:
        raise SchemaError(f"{what}: Try to add a column `{name}` which already exists in the table. Use MODIFY.")


def _put(
    columns: list[ColumnDeclaration],
    column: ColumnDeclaration,
    old: ColumnDeclaration | None,
    position: ColumnPosition | None,
    what: str,
) -> None:
    if position is None:
        if old is None:
            columns.append(column)
        else:
            columns[columns.index(old)] = column
        return
    if position.after is not None and position.after not in [c.name for c in columns]:
        raise SchemaError(f"{what}: Referenced column `{position.after}` by 'AFTER' does not exist in the table.")
    if position.after == column.name:
        raise SchemaError(f"{what}: column `{column.name}` cannot stand AFTER itself.")
    if old is not None:
        columns.remove(old)
    names = [c.name for c in columns]
    columns.insert(names.index(position.after) + 1 if position.after is not None else 0, column)


def _check_key(base: Declaration, modify: bool, what: str) -> None:
    if modify and not base.keys:
        raise SchemaError(
            f"{what}: The base table does not define any primary key constraint. You might want to add a new one."
        )
    if not modify and base.keys:
        shown = "`, `".join(base.keys[0].columns)
        raise SchemaError(
            f"{what}: The base table has already defined the primary key constraint [`{shown}`]. You might want to "
            "drop it before adding a new one."
        )


def _check_watermark(base: Declaration, modify: bool, what: str) -> None:
    if modify and not base.watermarks:
        raise SchemaError(f"{what}: The base table does not define any watermark. You might want to add a new one.")
    if not modify and base.watermarks:
        mark = base.watermarks[0]
        raise SchemaError(
            f"{what}: The base table has already defined the watermark strategy `{mark.column}` AS {mark.text}. You "
            "might want to drop it before adding a new one."
        )
