"""CREATE TABLE ... LIKE: what the new table takes over from its base, by the rules of Flink's MergeTableLikeUtil."""

from __future__ import annotations

from dataclasses import replace

from kafka_sql.errors import ConflictingOptionsError, SchemaError, UnsupportedSqlError
from kafka_sql.options.secrets import is_secret
from kafka_sql.sql.grammar.declaration import ColumnDeclaration, Declaration, KeyDeclaration, WatermarkDeclaration

_DEFAULTS = {
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
    """The declaration with what LIKE takes over from its base, which keeps its comment and its name.

    Raises:
        UnsupportedSqlError: a feature is named twice, or cannot be overwritten.
        SchemaError: both declare a column, a watermark or a primary key.
        ConflictingOptionsError: both have an option, and OPTIONS is INCLUDING.
    """
    assert declaration.like is not None
    strategies = _strategies(declaration.like.options)
    return replace(
        declaration,
        columns=_columns(strategies, base.columns, declaration.columns),
        keys=_keys(strategies["CONSTRAINTS"], declaration, base),
        watermarks=_watermarks(strategies["WATERMARKS"], base.watermarks, declaration.watermarks),
        options=_options(strategies["OPTIONS"], base.options or [], declaration.options or []) or declaration.options,
        like=None,
    )


def _strategies(options: tuple[tuple[str, str], ...]) -> dict[str, str]:
    given: dict[str, str] = {}
    for strategy, feature in options:
        if feature in given:
            raise UnsupportedSqlError(f"LIKE: Each like option feature can be declared only once; {feature} is twice.")
        if strategy == "OVERWRITING" and feature in _NEVER_OVERWRITING:
            raise UnsupportedSqlError(
                f"LIKE: Illegal merging strategy 'OVERWRITING' for '{feature}' option. Use INCLUDING or EXCLUDING."
            )
        given[feature] = strategy
    everything = dict.fromkeys(_DEFAULTS, given["ALL"]) if "ALL" in given else {}
    return {**_DEFAULTS, **everything, **given}


def _columns(
    strategies: dict[str, str], base: list[ColumnDeclaration], own: list[ColumnDeclaration]
) -> list[ColumnDeclaration]:
    columns = {c.name: c for c in base if c.is_physical or strategies[_feature(c)] != "EXCLUDING"}
    seen: set[str] = set()
    for column in sorted(own, key=lambda c: not c.is_physical):  # physical ones first, as Flink looks at them
        _check_column(column, columns.get(column.name), strategies)
    for column in own:
        if column.name in seen:
            raise SchemaError(f"Column '{column.name}' is declared more than once.")
        seen.add(column.name)
        columns[column.name] = column
    return list(columns.values())


def _check_column(column: ColumnDeclaration, old: ColumnDeclaration | None, strategies: dict[str, str]) -> None:
    if old is None:
        return
    exists = f"LIKE: A column named '{column.name}' already exists in the base table."
    if column.is_physical:
        raise SchemaError(f"{exists} Leave it out, or choose another name.")
    feature = _feature(column)
    kind = "computed" if feature == "GENERATED" else "metadata"
    if old.is_physical or _feature(old) != feature:
        raise SchemaError(f"{exists} {kind.capitalize()} columns can only overwrite other {kind} columns.")
    if strategies[feature] != "OVERWRITING":
        shown = "generated" if feature == "GENERATED" else kind
        raise SchemaError(
            f"LIKE: A {shown} column named '{column.name}' already exists in the base table. You might want to specify "
            f"EXCLUDING {feature} or OVERWRITING {feature}."
        )


def _feature(column: ColumnDeclaration) -> str:
    return "GENERATED" if column.expression is not None else "METADATA"


def _keys(strategy: str, declaration: Declaration, base: Declaration) -> list[KeyDeclaration]:
    inherited = base.keys if strategy == "INCLUDING" else []
    if inherited and declaration.keys:
        raise SchemaError(
            "LIKE: The base table already has a primary key. You might want to specify EXCLUDING CONSTRAINTS."
        )
    return [*inherited, *declaration.keys]


def _watermarks(
    strategy: str, base: list[WatermarkDeclaration], own: list[WatermarkDeclaration]
) -> list[WatermarkDeclaration]:
    marks = {m.column: m for m in base} if strategy != "EXCLUDING" else {}
    for mark in own:
        if mark.column in marks and strategy != "OVERWRITING":
            raise SchemaError(
                f"LIKE: There already exists a watermark spec for column '{mark.column}' in the base table. You might "
                "want to specify EXCLUDING WATERMARKS or OVERWRITING WATERMARKS."
            )
    return [*(m for c, m in marks.items() if c not in {o.column for o in own}), *own]


def _options(strategy: str, base: list[tuple[str, str]], own: list[tuple[str, str]]) -> list[tuple[str, str]]:
    inherited = dict(base) if strategy != "EXCLUDING" else {}
    for key, _ in own:
        if key in inherited and strategy != "OVERWRITING":
            value = "******" if is_secret(key) else inherited[key]
            raise ConflictingOptionsError(
                f"LIKE: There already exists an option ['{key}' -> '{value}'] in the base table. You might want to "
                "specify EXCLUDING OPTIONS or OVERWRITING OPTIONS."
            )
    given = {key for key, _ in own}
    return [*((k, v) for k, v in inherited.items() if k not in given), *own]  # a key given twice is found later
