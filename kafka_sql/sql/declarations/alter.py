"""Apply ALTER TABLE to a declaration, with Flink's rules and error messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from kafka_sql.errors import SchemaError, StatementError, UnsupportedSqlError
from kafka_sql.inherited_secrets import check_inherited_secrets
from kafka_sql.options.connector import CONNECTOR
from kafka_sql.sql.grammar import statement_nodes as nodes
from kafka_sql.suggestions import did_you_mean


def apply_alteration(base: nodes.Declaration, alteration: nodes.Alteration) -> nodes.Declaration:
    """Return the declaration after the statement. ``to_table`` validates the result as a whole.

    Raises:
        SchemaError: a column, primary key or watermark is missing, already exists or is still referenced.
        UnsupportedSqlError: an option that cannot be reset.
        MissingOptionError: an option changes where the other options' secrets are sent.
    """
    statement = f"ALTER TABLE {'.'.join(alteration.name)}"
    try:
        return _apply(base, alteration.change, statement)
    except SchemaError as e:
        raise e.with_prefix(f"{statement}: ") from None


def _apply(base: nodes.Declaration, change: nodes.Change, statement: str) -> nodes.Declaration:
    match change:
        case nodes.AddOrModify():
            return _add_or_modify(base, change)
        case nodes.DropColumns(columns):
            return _drop_columns(base, columns)
        case nodes.RenameColumn(old, new):
            return _rename_column(base, old, new)
        case nodes.DropKey(constraint):
            return _drop_key(base, constraint)
        case nodes.DropWatermark():
            if not base.watermarks:
                raise SchemaError("The base table does not define any watermark strategy.")
            return replace(base, watermarks=[])
        case nodes.SetOptions(options):
            return _set_options(base, options, statement)
        case nodes.ResetOptions(keys):
            return _reset_options(base, keys, statement)
        case _:
            raise AssertionError(change)


def _drop_columns(base: nodes.Declaration, names: tuple[str, ...]) -> nodes.Declaration:
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"Duplicate column `{name}`.", column=name)
        _check_unused(base, name, dropped=names)
        if any(name in key.columns for key in base.keys):
            raise SchemaError(f"The column `{name}` is used as the primary key. DROP PRIMARY KEY first.", column=name)
    return replace(base, columns=[c for c in base.columns if c.name not in names])


def _rename_column(base: nodes.Declaration, old: str, new: str) -> nodes.Declaration:
    _check_unused(base, old)
    if any(c.name == new for c in base.columns):
        raise SchemaError(f"The column `{new}` already existed in table schema.", column=new)

    def rename(column: str) -> str:
        return new if column == old else column

    return replace(
        base,
        columns=[replace(c, name=rename(c.name)) for c in base.columns],
        keys=[replace(k, columns=tuple(map(rename, k.columns))) for k in base.keys],
    )


def _drop_key(base: nodes.Declaration, constraint: str | None) -> nodes.Declaration:
    if not base.keys:
        raise SchemaError("The base table does not define any primary key.")
    key = base.keys[0]
    name = key.name or "PK_" + "_".join(key.columns)  # Flink's default name
    if constraint is not None and constraint != name:
        raise SchemaError(
            f"The base table does not define a primary key constraint named '{constraint}'. Available "
            f"constraint name: ['{name}']."
        )
    return replace(base, keys=[])


def _check_unused(base: nodes.Declaration, name: str, dropped: Iterable[str] = ()) -> None:
    """Reject a column that does not exist, or that is still referenced by a column that is not dropped with it."""
    names = [c.name for c in base.columns]
    if name not in names:
        suggestion = did_you_mean(name, names)
        raise SchemaError(f"The column `{name}` does not exist in the base table.{suggestion}", column=name)
    dependents = sorted(
        c.name
        for c in base.columns
        if c.name not in dropped and c.expression is not None and name in _referenced_columns(c.expression)
    )
    if dependents:
        columns = ", ".join(f"`{dependent}`" for dependent in dependents)
        raise SchemaError(f"The column `{name}` is referenced by computed column {columns}.", column=name)
    if any(name == w.column or name in _referenced_columns(w.expression) for w in base.watermarks):
        raise SchemaError(
            f"The column `{name}` is referenced by watermark expression. DROP WATERMARK first.",
            column=name,
        )


def _referenced_columns(expression: exp.Expr) -> set[str]:
    return {node.name for node in expression.find_all(exp.Column)}


def _set_options(base: nodes.Declaration, options: tuple[tuple[str, str], ...], statement: str) -> nodes.Declaration:
    if not options:
        raise StatementError(f"{statement} SET does not support empty options. Specify at least one 'key' = 'value'.")
    for key, _ in options:
        if [k for k, _ in options].count(key) > 1:
            raise StatementError(f"{statement} SET: option '{key}' is set more than once. Remove the duplicates.")
    old = dict(base.options or [])
    new = old | dict(options)
    check_inherited_secrets(old, new, dict(options))
    return replace(base, options=list(new.items()))


def _reset_options(base: nodes.Declaration, keys: tuple[str, ...], statement: str) -> nodes.Declaration:
    if not keys:
        raise UnsupportedSqlError("ALTER TABLE RESET does not support empty key. Specify at least one option.")
    if CONNECTOR.key in keys:
        raise UnsupportedSqlError(
            f"ALTER TABLE RESET does not support changing 'connector'. Use {statement} SET ('connector' = '...')."
        )
    old = dict(base.options or [])
    new = {key: value for key, value in old.items() if key not in keys}
    check_inherited_secrets(old, new, keys, verb="reset")
    return replace(base, options=list(new.items()))


def _add_or_modify(base: nodes.Declaration, change: nodes.AddOrModify) -> nodes.Declaration:
    """Add or replace columns, the primary key and the watermark."""
    columns = list(base.columns)
    declared: set[str] = set()
    for column, position in change.columns:
        if column.name in declared:
            raise SchemaError(f"Encounter duplicate column `{column.name}`.", column=column.name)
        declared.add(column.name)
        old = next((c for c in columns if c.name == column.name), None)
        _check_column(base, column.name, old, change.is_modify)
        if old is not None and column.comment is None:
            column = replace(column, comment=old.comment)
        _place_column(columns, column, old, position)
    if change.keys:
        names = [f"primary key constraint [`{'`, `'.join(key.columns)}`]" for key in base.keys]
        _check_existing(next(iter(names), None), "primary key constraint", change.is_modify)
    if change.watermarks:
        names = [f"watermark strategy `{watermark.column}` AS {watermark.text}" for watermark in base.watermarks]
        _check_existing(next(iter(names), None), "watermark", change.is_modify)
    return replace(
        base,
        columns=columns,
        keys=list(change.keys) or base.keys,
        watermarks=list(change.watermarks) or base.watermarks,
    )


def _check_column(base: nodes.Declaration, name: str, old: nodes.ColumnDeclaration | None, is_modify: bool) -> None:
    if is_modify and old is None:
        suggestion = did_you_mean(name, [c.name for c in base.columns])
        raise SchemaError(
            f"Try to modify a column `{name}` which does not exist in the table.{suggestion}", column=name
        )
    if not is_modify and old is not None:
        raise SchemaError(f"Try to add a column `{name}` which already exists in the table. Use MODIFY.", column=name)


def _place_column(
    columns: list[nodes.ColumnDeclaration],
    column: nodes.ColumnDeclaration,
    old: nodes.ColumnDeclaration | None,
    position: str | None,
) -> None:
    if position is None:
        if old is None:
            columns.append(column)
        else:
            columns[columns.index(old)] = column
        return
    if position != nodes.FIRST and position not in [c.name for c in columns]:
        raise SchemaError(f"Referenced column `{position}` by 'AFTER' does not exist in the table.", column=position)
    if position == column.name:
        raise SchemaError(f"column `{column.name}` cannot be placed AFTER itself.", column=column.name)
    if old is not None:
        columns.remove(old)
    names = [c.name for c in columns]
    columns.insert(0 if position == nodes.FIRST else names.index(position) + 1, column)


def _check_existing(existing: str | None, what: str, is_modify: bool) -> None:
    if is_modify and existing is None:
        raise SchemaError(f"The base table does not define any {what}. You might want to add a new one.")
    if not is_modify and existing is not None:
        raise SchemaError(
            f"The base table has already defined the {existing}. You might want to drop it before adding a new one."
        )
