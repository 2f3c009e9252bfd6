"""Merge a CREATE TABLE ... LIKE with its base table, following Flink's MergeTableLikeUtil."""

from __future__ import annotations

from dataclasses import replace

from kafka_sql.errors import ConflictingOptionsError, KafkaSqlError, SchemaError, UnsupportedSqlError
from kafka_sql.inherited_secrets import check_inherited_secrets
from kafka_sql.options.secrets import mask_value
from kafka_sql.sql.grammar.statement_nodes import ColumnDeclaration, Declaration, KeyDeclaration, WatermarkDeclaration

_DEFAULT_STRATEGIES = {
    "CONSTRAINTS": "INCLUDING",
    "DISTRIBUTION": "INCLUDING",
    "GENERATED": "INCLUDING",
    "METADATA": "INCLUDING",
    "OPTIONS": "OVERWRITING",
    "PARTITIONS": "INCLUDING",
    "WATERMARKS": "INCLUDING",
}
_NEVER_OVERWRITING = ("ALL", "CONSTRAINTS", "DISTRIBUTION", "PARTITIONS")


def merge_like(declaration: Declaration, base: Declaration) -> Declaration:
    """Return the declaration with everything it inherits from its base, except for the name and the comment.

    Raises:
        UnsupportedSqlError: a feature is specified twice, or cannot be overwritten.
        SchemaError: both declare the same column or watermark, or a primary key.
        ConflictingOptionsError: both set the same option, and OPTIONS is INCLUDING.
        MissingOptionError: an option changes where inherited secrets are sent.
    """
    try:
        return _merge(declaration, base)
    except KafkaSqlError as e:
        raise e.with_prefix("LIKE: ") from None


def _merge(declaration: Declaration, base: Declaration) -> Declaration:
    assert declaration.like is not None
    strategies = _resolve_strategies(declaration.like.options)
    return replace(
        declaration,
        columns=_merge_columns(strategies, base.columns, declaration.columns),
        keys=_merge_keys(strategies["CONSTRAINTS"], declaration, base),
        watermarks=_merge_watermarks(strategies["WATERMARKS"], base.watermarks, declaration.watermarks),
        options=_merge_options(strategies["OPTIONS"], base.options or [], declaration.options or [])
        or declaration.options,
        like=None,
    )


def _resolve_strategies(options: tuple[tuple[str, str], ...]) -> dict[str, str]:
    specified: dict[str, str] = {}
    for strategy, feature in options:
        if feature in specified:
            raise UnsupportedSqlError(
                f"Each like option feature can be declared only once: {feature} is declared twice."
            )
        if strategy == "OVERWRITING" and feature in _NEVER_OVERWRITING:
            raise UnsupportedSqlError(
                f"Illegal merging strategy 'OVERWRITING' for '{feature}' option. Use INCLUDING or EXCLUDING."
            )
        specified[feature] = strategy
    everything = dict.fromkeys(_DEFAULT_STRATEGIES, specified["ALL"]) if "ALL" in specified else {}
    return {**_DEFAULT_STRATEGIES, **everything, **specified}


def _merge_columns(
    strategies: dict[str, str], base: list[ColumnDeclaration], declared: list[ColumnDeclaration]
) -> list[ColumnDeclaration]:
    columns = {c.name: c for c in base if c.is_physical or strategies[_feature(c)] != "EXCLUDING"}
    names: set[str] = set()
    for column in sorted(declared, key=lambda c: not c.is_physical):  # Flink checks physical columns first
        _check_column(column, columns.get(column.name), strategies)
    for column in declared:
        if column.name in names:
            raise SchemaError(f"Column '{column.name}' is declared more than once.", column=column.name)
        names.add(column.name)
        columns[column.name] = column
    return list(columns.values())


def _check_column(column: ColumnDeclaration, old: ColumnDeclaration | None, strategies: dict[str, str]) -> None:
    if old is None:
        return
    exists = f"A column named '{column.name}' already exists in the base table."
    if column.is_physical:
        raise SchemaError(f"{exists} Remove it or choose another name.")
    feature = _feature(column)
    column_type = "computed" if feature == "GENERATED" else "metadata"
    if old.is_physical or _feature(old) != feature:
        raise SchemaError(
            f"{exists} {column_type.capitalize()} columns can only overwrite other {column_type} columns."
        )
    if strategies[feature] != "OVERWRITING":
        raise SchemaError(
            f"A {feature.lower()} column named '{column.name}' already exists in the base table. You might want "
            f"to specify EXCLUDING {feature} or OVERWRITING {feature}.",
            column=column.name,
        )


def _feature(column: ColumnDeclaration) -> str:
    return "GENERATED" if column.expression is not None else "METADATA"


def _merge_keys(strategy: str, declaration: Declaration, base: Declaration) -> list[KeyDeclaration]:
    inherited = base.keys if strategy == "INCLUDING" else []
    if inherited and declaration.keys:
        raise SchemaError("The base table already has a primary key. You might want to specify EXCLUDING CONSTRAINTS.")
    return [*inherited, *declaration.keys]


def _merge_watermarks(
    strategy: str, base: list[WatermarkDeclaration], declared: list[WatermarkDeclaration]
) -> list[WatermarkDeclaration]:
    inherited = {w.column: w for w in base} if strategy != "EXCLUDING" else {}
    for watermark in declared:
        if watermark.column in inherited and strategy != "OVERWRITING":
            raise SchemaError(
                f"There already exists a watermark spec for column '{watermark.column}' in the base table. You "
                "might want to specify EXCLUDING WATERMARKS or OVERWRITING WATERMARKS.",
                column=watermark.column,
            )
    overwritten = {w.column for w in declared}
    return [*(w for column, w in inherited.items() if column not in overwritten), *declared]


def _merge_options(
    strategy: str, base: list[tuple[str, str]], declared: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    inherited = dict(base) if strategy != "EXCLUDING" else {}
    for key, _ in declared:
        if key in inherited and strategy != "OVERWRITING":
            value = mask_value(key, inherited[key])
            raise ConflictingOptionsError(
                f"There already exists an option ['{key}' -> '{value}'] in the base table. You might want to "
                "specify EXCLUDING OPTIONS or OVERWRITING OPTIONS.",
                option=key,
            )
    specified = {key for key, _ in declared}
    check_inherited_secrets(inherited, inherited | dict(declared), specified)
    # to_table rejects duplicate keys
    return [*((k, v) for k, v in inherited.items() if k not in specified), *declared]
