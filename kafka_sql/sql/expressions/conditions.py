"""Comparisons, and what chooses between values: CASE, IF, COALESCE, NULLIF, GREATEST."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_sql.sql.expressions.arithmetic import coerced
from kafka_sql.sql.expressions.binding import bind
from kafka_sql.sql.expressions.typed import BOOLEAN, TypedExpression, UntranslatableError, common, describe, family
from kafka_sql.sql.grammar.types import FlinkType

_UNORDERED = ("row", "array", "map", "multiset", "variant", "interval")


def compare(operator: str, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """``left operator right``.

    To Spark, NaN is equal to itself and greater than all numbers; to Flink it is neither, but that ``x = x`` is always
    true there.
    """
    meeting = common((left.type, right.type))
    if meeting is None or left.type is None or right.type is None:
        return TypedExpression(f"({left.sql} {operator} {right.sql})", BOOLEAN)
    if family(meeting) in _UNORDERED:
        raise UntranslatableError(f"{meeting.name} is not compared")
    a, b = coerced(left, meeting), coerced(right, meeting)
    if family(meeting) != "approximate" or a == b:
        return TypedExpression(f"({a} {operator} {b})", BOOLEAN)
    if operator == "<>":
        return TypedExpression(f"(NOT {compare('=', left, right).sql})", BOOLEAN)
    suspect, value = (a, left) if operator in ("=", ">", ">=") else (b, right)
    if value.literal is not None or family(value.type or meeting) != "approximate":
        if operator != "=":
            return TypedExpression(f"({a} {operator} {b})", BOOLEAN)
        suspect, value = b, right
        if value.literal is not None or family(value.type or meeting) != "approximate":
            return TypedExpression(f"({a} = {b})", BOOLEAN)
    if suspect is a:
        return TypedExpression(bind(a, lambda x: f"({x} {operator} {b} AND NOT isnan({x}))"), BOOLEAN)
    return TypedExpression(bind(b, lambda y: f"({a} {operator} {y} AND NOT isnan({y}))"), BOOLEAN)


def distinct(left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """``left IS DISTINCT FROM right``."""
    meeting = common((left.type, right.type))
    if meeting is not None and family(meeting) in (*_UNORDERED, "approximate"):
        if left.sql == right.sql:
            return TypedExpression("FALSE", BOOLEAN)
        raise UntranslatableError(f"IS [NOT] DISTINCT FROM has no translation for {meeting.name}")
    a, b = (coerced(v, meeting) if meeting is not None and v.type is not None else v.sql for v in (left, right))
    return TypedExpression(f"(NOT ({a} <=> {b}))", BOOLEAN)


def among(value: TypedExpression, items: Sequence[TypedExpression]) -> TypedExpression:
    """``value IN (items)``."""
    meeting = common(item.type for item in (value, *items))
    if meeting is not None and family(meeting) == "approximate":
        return TypedExpression(f"({' OR '.join(compare('=', value, item).sql for item in items)})", BOOLEAN)
    if meeting is not None and family(meeting) in _UNORDERED:
        raise UntranslatableError(f"{meeting.name} is not compared")
    texts = [coerced(v, meeting) if meeting is not None and v.type is not None else v.sql for v in (value, *items)]
    return TypedExpression(f"({texts[0]} IN ({', '.join(texts[1:])}))", BOOLEAN)


def between(value: TypedExpression, low: TypedExpression, high: TypedExpression, symmetric: bool) -> TypedExpression:
    """``value BETWEEN [SYMMETRIC] low AND high``."""
    common((value.type, low.type, high.type))
    text = f"({compare('>=', value, low).sql} AND {compare('<=', value, high).sql})"
    if symmetric:
        text = f"({text} OR {between(value, high, low, symmetric=False).sql})"
    return TypedExpression(text, BOOLEAN)


def branches(tests: Sequence[str], results: Sequence[TypedExpression]) -> TypedExpression:
    """CASE: a result for each test, and one more for ELSE."""
    type, texts = unified(results)
    whens = " ".join(f"WHEN {test} THEN {text}" for test, text in zip(tests, texts, strict=False))
    otherwise = f" ELSE {texts[-1]}" if len(results) > len(tests) else ""
    return TypedExpression(f"(CASE {whens}{otherwise} END)", type)


def unified(values: Sequence[TypedExpression]) -> tuple[FlinkType | None, list[str]]:
    """The type that values take together, and each of them in that type."""
    type = common(value.type for value in values)
    if type is None:
        return None, [value.sql for value in values]
    return type, [value.sql if value.type is None else coerced(value, type) for value in values]


def extreme(name: str, values: Sequence[TypedExpression]) -> TypedExpression:
    """GREATEST and LEAST, which are NULL where one value is."""
    type, texts = unified(values)
    if type is None or family(type) in _UNORDERED:
        raise UntranslatableError(f"{name} takes values that are compared and not {describe(type)}")
    if type.name == "DECIMAL" and any(v.type != type for v in values):
        raise UntranslatableError(
            f"{name} of decimals of different types fails on NULL in Flink; CAST them to one type"
        )
    if len(texts) == 1:
        return TypedExpression(texts[0], type)
    null = " OR ".join(f"{v.sql} IS NULL" for v in values if v.literal is None)
    text = f"{name.lower()}({', '.join(texts)})"
    return TypedExpression(f"if({null}, NULL, {text})" if null else text, type)


def truth(word: str, value: TypedExpression) -> TypedExpression:
    """A value that has to be a BOOLEAN."""
    if value.type is not None and value.type.name != "BOOLEAN":
        raise UntranslatableError(f"{word} takes BOOLEAN and not {describe(value.type)}")
    return value
