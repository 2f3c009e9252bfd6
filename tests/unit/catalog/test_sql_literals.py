"""Names and texts in statements for Spark are single tokens, whatever they contain."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_sql.catalog.sql_literals import like_pattern, qualified_name, quote, string_literal
from kafka_sql.sql.recognize import lexer

HOSTILE = [
    "`",
    "a`b",
    "``",
    "'",
    "\\",
    "\\'",
    "a' OR '1",
    "-- x",
    "/* x */",
    "\n;",
    "${env:HOME}",
    "$\\{x",
    "%_*",
    "\0",
    "é😀",
]
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=8)).filter(bool)


@given(TEXTS, TEXTS)
@example("a`.`b", "`; DROP TABLE t; --")
def test_a_name_is_one_token_per_part(database: str, table: str) -> None:
    first, dot, second = lexer.tokenize_spark(qualified_name((database, table)))
    assert (first.name, dot.text, second.name) == (database, ".", table)
    assert {first.type, second.type} == {lexer.QUOTED}


@given(TEXTS)
@example("\\' OR 1 = 1 --")
def test_a_text_is_one_literal(text: str) -> None:
    (token,) = lexer.tokenize_spark(string_literal(text))
    assert token.text == string_literal(text)
    content = token.text[1:-1]
    assert "${" not in content  # Spark would replace it with the value of a variable
    assert _unescape(content) == text


def _unescape(content: str) -> str:
    """Return the text of a literal with Spark's escapes; ends at the first quote that is not escaped."""
    characters, text = iter(content), ""
    for character in characters:
        assert character != "'"
        text += next(characters) if character == "\\" else character
    return text


@pytest.mark.parametrize(("name", "pattern"), [("orders_1", "orders_1"), ("a'b|c*", "a*b*c*"), ("ä", "*")])
def test_a_pattern_has_no_quotes(name: str, pattern: str) -> None:
    assert like_pattern(name) == pattern


def test_a_quoted_name() -> None:
    assert quote("a`b") == "`a``b`"
