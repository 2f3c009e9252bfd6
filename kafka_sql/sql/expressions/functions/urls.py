"""Translate PARSE_URL, which splits a URL as Java's URL class does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import string_constant
from kafka_sql.sql.expressions.binding import bind, raise_error_sql
from kafka_sql.sql.expressions.functions.signature import Function, check_argument_count, check_argument_type
from kafka_sql.sql.expressions.typed import STRING, TypedExpression, UntranslatableError

_PREFIX: Final = r"(?i)^[\x00-\x20]*(?:url:)?|[\x00-\x20]+$"
_PORT: Final = r"(?::(?:\+?[0-9]{1,9}|-0*[01])?)?"
# with several @, there is neither a user nor a host
_AUTHORITY: Final = rf"[^/?#@]*@[^/?#@]*@[^/?#]*|(?:[^/?#@]*@)?[^/?#@:]*{_PORT}"
_URL: Final = rf"(?is)^(https?|ftp|file):(?://({_AUTHORITY})(?=[/?#]|$)|(?!//))([^?#]*)(?:[?]([^#]*))?(?:#(.*))?$"
# protocols with a special syntax, IPv6 addresses, hosts with control characters, and ports with ten digits
_UNSUPPORTED: Final = (
    r"(?is)^(?:jar|mailto|jrt|jmod):|^(?:https?|ftp|file):"
    r"(?:////|//[^/?#]*(?:[\x00-\x20\x7F\"<>\\^`{|}\[\]]|:[-+]?[0-9]{10}))"
)
_HAS_AUTHORITY: Final = "^[^:/]+://"
_HAS_QUERY: Final = "^[^?#]*[?]"
_USER: Final = "(?s)^([^@]*)@[^@]*$"
_HOST: Final = "(?s)^(?:[^@]*@)?([^@:]*)(?::.*)?$"


def _group(u: str, number: int) -> str:
    return f"regexp_extract({u}, {string_constant(_URL)}, {number})"


def _if_matching(value: str, pattern: str, result: str) -> str:
    return f"if({value} RLIKE {string_constant(pattern)}, {result}, NULL)"


def _part(u: str, part: str) -> str:
    """Return SQL for a part of a valid URL."""
    path, query = _group(u, 3), _if_matching(u, _HAS_QUERY, _group(u, 4))
    authority = _group(u, 2)
    return {
        "PROTOCOL": f"lower({_group(u, 1)})",
        "AUTHORITY": _if_matching(u, _HAS_AUTHORITY, authority),
        "USERINFO": _if_matching(authority, _USER, f"regexp_extract({authority}, {string_constant(_USER)}, 1)"),
        "HOST": f"regexp_extract({authority}, {string_constant(_HOST)}, 1)",
        "PATH": path,
        "QUERY": query,
        "FILE": f"concat({path}, coalesce(concat('?', {query}), ''))",
        "REF": _if_matching(u, "#", _group(u, 5)),
    }.get(part, "NULL")


def _parse_url(arguments: Sequence[TypedExpression]) -> TypedExpression:
    check_argument_count("PARSE_URL", arguments, 2, 3)
    for argument in arguments:
        check_argument_type("PARSE_URL", argument, "string")
    if not all(isinstance(argument.literal, str) for argument in arguments[1:]):
        raise UntranslatableError("PARSE_URL requires a part, such as 'HOST', and a key that are string literals")
    part = str(arguments[1].literal)
    key = str(arguments[2].literal) if len(arguments) > 2 else None

    def parse(u: str) -> str:
        error = raise_error_sql("PARSE_URL of a URL with an unusual protocol, host or port", u)
        result = _part(u, part)
        if key is not None:
            pattern = "(?:&|^)" + re.sub(r"([^\w\s])", r"\\\1", key) + "=([^&]*)"
            extract = f"regexp_extract({result}, {string_constant(pattern)}, 1)"
            result = _if_matching(result, pattern, extract) if part == "QUERY" else "NULL"
        return (
            f"CASE WHEN {u} RLIKE {string_constant(_UNSUPPORTED)} THEN {error} "
            f"WHEN {u} RLIKE {string_constant(_URL)} THEN {result} END"
        )

    url = f"regexp_replace({arguments[0].sql}, {string_constant(_PREFIX)}, '')"
    return TypedExpression(bind(url, parse), STRING)


FUNCTIONS: Final[dict[str, Function]] = {"PARSE_URL": _parse_url}
