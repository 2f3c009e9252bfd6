"""Translate JSON_VALUE, JSON_QUERY and JSON_EXISTS.

Spark's VARIANT has the values of a document and writes objects with sorted keys, as Flink does. See ``json_numbers``
for the digits of numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.functions.json_numbers import mark_numbers, unmark_document, unmark_text
from kafka_sql.sql.expressions.functions.json_paths import JsonPath, find_all, read_path, write_list
from kafka_sql.sql.expressions.functions.signature import check_argument_type
from kafka_sql.sql.expressions.typed import BOOLEAN, DOUBLE, INT, STRING, TypedExpression, UntranslatableError
from kafka_sql.sql.grammar.types import FlinkType

_STRING_ARRAY: Final = FlinkType("ARRAY", elements=(STRING,))
_NO_LIST: Final = "CAST(NULL AS ARRAY<VARIANT>)"
_TYPES: Final = {"STRING": STRING, "BOOLEAN": BOOLEAN, "INT": INT, "INTEGER": INT, "DOUBLE": DOUBLE}


def is_json(s: str) -> str:
    """Return SQL that is true for a text that starts with a JSON value, as in Flink; false for others and for NULL."""
    return f"(try_parse_json({s}) IS NOT NULL OR {_has_duplicate_keys(s)})"


def _has_duplicate_keys(s: str) -> str:
    """Return SQL that is true for a valid document; used for those that are no VARIANT because of duplicate keys."""
    return (
        f"from_json(concat('{{\"v\":', {s}, '}}'), 'v STRING', map('allowSingleQuotes', 'false', "
        f"'allowNonNumericNumbers', 'false')).v IS NOT NULL"
    )


def with_document(text: str, body: Callable[[str, str], str], invalid: str) -> str:
    """Return ``body(text, variant)``; ``invalid`` for text that is not JSON, and NULL for NULL."""
    duplicates = raise_error_sql("JSON with duplicate keys, of which Flink uses the last one")

    def with_text(s: str) -> str:
        return bind(
            f"try_parse_json({s})",
            lambda v: (
                f"CASE WHEN {s} IS NULL THEN NULL WHEN {v} IS NULL "
                f"THEN if({_has_duplicate_keys(s)}, {duplicates}, {invalid}) ELSE {body(s, v)} END"
            ),
        )

    return bind(text, with_text)


class Behavior(NamedTuple):
    """What ON EMPTY or ON ERROR returns: a keyword, and the value after DEFAULT. Without the clause, it is empty."""

    word: str = ""
    default: TypedExpression | None = None

    def to_sql(self, message: str) -> str:
        """Return the SQL of NULL, ERROR or DEFAULT."""
        if self.word == "ERROR":
            return raise_error_sql(message)
        return self.default.sql if self.default is not None else "NULL"


def translate_json_value(
    value: TypedExpression,
    path_argument: TypedExpression,
    returning: str | None,
    on_empty: Behavior,
    on_error: Behavior,
) -> TypedExpression:
    """Translate ``JSON_VALUE(value, path [RETURNING type] [... ON EMPTY] [... ON ERROR])``."""
    check_argument_type("JSON_VALUE", value, "string")
    if returning is not None and returning not in _TYPES:
        raise UntranslatableError(
            f"JSON_VALUE ... RETURNING {returning} is not supported; use STRING, INTEGER, DOUBLE, BOOLEAN or CAST"
        )
    result = _TYPES[returning or "STRING"]
    for default in (on_empty.default, on_error.default):
        if default is None:
            continue
        check_argument_type("DEFAULT of JSON_VALUE", default, "string")
        if default.type is not None and result != STRING:
            raise UntranslatableError("DEFAULT of JSON_VALUE with RETURNING is not supported; use COALESCE")
    path = read_path("JSON_VALUE", path_argument)
    empty = on_empty.to_sql("Empty result of JSON_VALUE function is not allowed")
    error = on_error.to_sql("JSON_VALUE: the path does not lead to a value")
    missing = empty if path.is_lax else error
    if path.has_wildcard:  # leads to a list, which is no scalar
        return TypedExpression(
            with_document(value.sql, lambda _, v: f"if(is_variant_null({v}), {error}, {missing})", missing), result
        )

    def body(s: str, v: str) -> str:
        return bind(f"variant_get({v}, {path.sql}, 'variant')", lambda x: choose(s, v, x))

    def choose(s: str, v: str, x: str) -> str:
        scalar = _scalar_sql(s, x, path, result.name)
        return (
            f"CASE WHEN is_variant_null({v}) THEN {error} WHEN {x} IS NULL OR is_variant_null({x}) "
            f"OR schema_of_variant({x}) RLIKE '^(OBJECT|ARRAY)' THEN {missing} ELSE {scalar} END"
        )

    return TypedExpression(with_document(value.sql, body, missing), result)


def _scalar_sql(s: str, x: str, path: JsonPath, result: str) -> str:
    kind = f"schema_of_variant({x})"
    digits = unmark_text(f"variant_get(try_parse_json({mark_numbers(s)}), {path.sql}, 'string')")
    is_fraction = f"{kind} RLIKE '^(DECIMAL|DOUBLE|FLOAT)'"
    if result == "STRING":
        return f"if({is_fraction}, {digits}, CAST({x} AS STRING))"
    error = raise_error_sql(f"ClassCastException: the value of JSON_VALUE is not {result}", f"to_json({x})")
    if result == "DOUBLE":  # an integer is an error, too
        return f"if({is_fraction}, CAST({digits} AS DOUBLE), {error})"
    expected = "BOOLEAN" if result == "BOOLEAN" else "BIGINT"
    return f"coalesce(if({kind} = '{expected}', try_variant_get({x}, '$', '{result.lower()}'), NULL), {error})"


def translate_json_query(
    value: TypedExpression,
    path_argument: TypedExpression,
    returning: str | None,
    wrapper: str | None,
    on_empty: Behavior,
    on_error: Behavior,
) -> TypedExpression:
    """Translate ``JSON_QUERY(value, path [RETURNING type] [... WRAPPER] [... ON EMPTY] [... ON ERROR])``.

    Args:
        wrapper: CONDITIONAL, UNCONDITIONAL or None.
    """
    check_argument_type("JSON_QUERY", value, "string")
    if returning not in (None, "STRING", "ARRAY<STRING>"):
        raise UntranslatableError(f"JSON_QUERY ... RETURNING {returning} is not supported; use ARRAY<STRING>")
    path, returns_array = read_path("JSON_QUERY", path_argument), returning == "ARRAY<STRING>"
    empty = _query_behavior(on_empty.word, "ON EMPTY", returns_array)
    error = _query_behavior(on_error.word, "ON ERROR", returns_array)
    missing = empty if path.is_lax else error

    if path.has_wildcard:
        sql = with_document(
            value.sql,
            lambda s, v: _query_all(s, v, path, wrapper == "UNCONDITIONAL", returns_array, error),
            missing,
        )
        return TypedExpression(sql, _STRING_ARRAY if returns_array else STRING)

    def body(s: str, v: str) -> str:
        marked = f"variant_get(try_parse_json({mark_numbers(s)}), {path.sql}, 'variant')"
        return bind(f"variant_get({v}, {path.sql}, 'variant')", lambda x: choose(marked, v, x))

    def choose(marked: str, v: str, x: str) -> str:
        kind = f"schema_of_variant({x})"
        is_array = f"startswith({kind}, 'ARRAY')"
        no_container = f"NOT startswith({kind}, 'OBJECT') AND NOT {is_array}"
        if wrapper is not None:
            result = _wrap(marked, is_array, wrapper == "CONDITIONAL", returns_array)
            mismatch = ""
        else:
            result = _array_of_texts(marked) if returns_array else unmark_document(f"to_json({marked})")
            mismatch = f"WHEN {no_container} THEN {missing} "
            if returns_array:
                mismatch += f"WHEN NOT {is_array} THEN {error} "
        return (
            f"CASE WHEN is_variant_null({v}) THEN {error} WHEN {x} IS NULL OR is_variant_null({x}) THEN {missing} "
            f"{mismatch}ELSE {result} END"
        )

    return TypedExpression(with_document(value.sql, body, missing), _STRING_ARRAY if returns_array else STRING)


def _query_all(s: str, v: str, path: JsonPath, is_wrapped: bool, returns_array: bool, error: str) -> str:
    """Return SQL for the list that a path with a wildcard leads to."""
    items = bind(f"try_parse_json({mark_numbers(s)})", lambda marked: find_all(marked, path, _NO_LIST))

    def write(m: str) -> str:
        document = unmark_document(write_list(m, lambda item: f"to_json({item})"))
        if returns_array:
            texts = f"transform({m}, e -> {_element_text('e')})"
            found = f"array({document})" if is_wrapped else texts
        else:
            found = f"concat('[', {document}, ']')" if is_wrapped else document
        return f"if({m} IS NULL, {_empty_list(is_wrapped, returns_array) if path.is_lax else error}, {found})"

    return f"if(is_variant_null({v}), {error}, {bind(items, write)})"


def _empty_list(is_wrapped: bool, returns_array: bool) -> str:
    if returns_array:
        return "array('[]')" if is_wrapped else "CAST(array() AS ARRAY<STRING>)"
    return "'[[]]'" if is_wrapped else "'[]'"


def _wrap(marked: str, is_array: str, is_conditional: bool, returns_array: bool) -> str:
    def wrap(m: str) -> str:
        document = unmark_document(f"to_json({m})")
        wrapped = f"array({_element_text(m)})" if returns_array else f"concat('[', {document}, ']')"
        if not is_conditional:
            return wrapped
        return f"if({is_array}, {_array_of_texts(m) if returns_array else document}, {wrapped})"

    return bind(marked, wrap)


def _array_of_texts(marked: str) -> str:
    return f"transform(CAST({marked} AS ARRAY<VARIANT>), e -> {_element_text('e')})"


def _element_text(element: str) -> str:
    """Return SQL for the text of a value: of a string without quotes, of others as JSON; NULL for null."""
    text = unmark_text(f"CAST({element} AS STRING)")
    document = unmark_document(f"to_json({element})")
    return (
        f"CASE WHEN is_variant_null({element}) THEN NULL WHEN schema_of_variant({element}) = 'STRING' THEN {text} "
        f"ELSE {document} END"
    )


def _query_behavior(word: str, clause: str, returns_array: bool) -> str:
    """Return the SQL of NULL, ERROR, EMPTY ARRAY or EMPTY OBJECT."""
    if word == "ERROR" and clause == "ON EMPTY":
        return raise_error_sql("Empty result of JSON_QUERY function is not allowed")
    if word == "ERROR":
        return raise_error_sql("JSON_QUERY: the path does not lead to an array or object")
    if word == "EMPTY OBJECT" and returns_array:
        raise UntranslatableError(f"EMPTY OBJECT {clause} is not an ARRAY<STRING>; use EMPTY ARRAY")
    if word == "EMPTY ARRAY" and returns_array:
        return "CAST(array() AS ARRAY<STRING>)"
    return {"EMPTY ARRAY": "'[]'", "EMPTY OBJECT": "'{}'"}.get(word, "NULL")


def translate_json_exists(
    value: TypedExpression, path_argument: TypedExpression, on_error: Behavior
) -> TypedExpression:
    """Translate ``JSON_EXISTS(value, path [... ON ERROR])``."""
    check_argument_type("JSON_EXISTS", value, "string")
    path = read_path("JSON_EXISTS", path_argument)
    error = {"TRUE": "TRUE", "UNKNOWN": "NULL", "ERROR": raise_error_sql("JSON_EXISTS: the path does not exist")}.get(
        on_error.word, "FALSE"
    )
    missing = "FALSE" if path.is_lax else error

    def body_of_list(_: str, v: str) -> str:
        found = find_all(v, path, _NO_LIST, is_order_relevant=False)
        exists = "TRUE" if path.is_lax else f"if({found} IS NULL, {error}, TRUE)"
        return f"if(is_variant_null({v}), {error}, {exists})"

    def body(_: str, v: str) -> str:
        found = f"variant_get({v}, {path.sql}, 'variant')"
        return (
            f"CASE WHEN is_variant_null({v}) THEN {error} WHEN {found} IS NULL OR is_variant_null({found}) "
            f"THEN {missing} ELSE TRUE END"
        )

    return TypedExpression(with_document(value.sql, body_of_list if path.has_wildcard else body, missing), BOOLEAN)
