"""Reject Flink's table functions for windows, which Spark's parser does not understand, and name Spark's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize import lexer

_DESCRIPTOR: Final = re.compile(r"\bDESCRIPTOR\s*\(", re.IGNORECASE)  # all of the functions have this argument
_ALTERNATIVES: Final = {
    "TUMBLE": "GROUP BY window({column}, '10 minutes')",
    "HOP": "GROUP BY window({column}, '10 minutes', '5 minutes'), with the size before the slide",
    "SESSION": "GROUP BY session_window({column}, '10 minutes')",
    "CUMULATE": "GROUP BY window({column}, '1 minute') with the step as the size, and add up the results",
}


def check_window_functions(statement: str) -> None:
    """Check that a statement does not call a window function such as ``TUMBLE(TABLE t, DESCRIPTOR(ts), ...)``.

    Raises:
        UnsupportedSqlError: it does; the message has what to write instead.
    """
    if not _DESCRIPTOR.search(statement):
        return
    tokens = list(lexer.tokenize_spark(statement))
    for index, token in enumerate(tokens[:-1]):
        if token.upper not in _ALTERNATIVES or tokens[index + 1].text != "(":
            continue
        column = _descriptor_column(tokens[index + 2 :])
        if column is not None:
            alternative = _ALTERNATIVES[token.upper].format(column=column)
            raise UnsupportedSqlError(f"Flink's table function {token.upper} is not supported. Write {alternative}.")


def _descriptor_column(arguments: Sequence[lexer.Token]) -> str | None:
    """Return the column in DESCRIPTOR(...) among the arguments of a function; None if there is none."""
    depth = 1
    for index, token in enumerate(arguments[:-2]):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0:
            return None
        if token.upper == "DESCRIPTOR" and arguments[index + 1].text == "(":
            column = arguments[index + 2]
            return column.text if column.type == lexer.WORD else quote(column.name)
    return None
