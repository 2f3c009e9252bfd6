"""Test OPTIONS hints: how they are parsed, and where they are allowed."""

import pytest

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, SqlSyntaxError, UnsupportedSqlError
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.hints import check_hint_positions, parse_hint

QUERY = "SELECT * FROM t"


@pytest.mark.parametrize(
    ("text", "options", "suffix"),
    [
        (" /*+ OPTIONS('a' = 'b') */ AS x", {"a": "b"}, "*/"),
        ("/*+options('a.b'='it''s */',\n'c'='')*/", {"a.b": "it's */", "c": ""}, "*/"),
        (" /* c */ -- c\n /*+ OPTIONS() */", {}, "*/"),
        (r" /*+ OPTIONS('a' = U&'\0001', u&'!0062' UESCAPE '!' = '') */", {"a": "\x01", "b": ""}, "*/"),
    ],
)
def test_hint_options(text: str, options: dict[str, str], suffix: str) -> None:
    hint = parse_hint(QUERY + text, len(QUERY))
    assert hint is not None
    assert hint.options == options
    assert (QUERY + text)[hint.start :].startswith("/*+")
    assert (QUERY + text)[: hint.end].endswith(suffix)
    assert "it's" not in repr(hint)


@pytest.mark.parametrize(
    "text", ["", " AS x", " /* OPTIONS('a' = 'b') */", " -- /*+ OPTIONS('a' = 'b') */", " x /*+ y */"]
)
def test_no_hint(text: str) -> None:
    assert parse_hint(QUERY + text, len(QUERY)) is None


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (" /*+ STATE_TTL('a' = '1d') */", UnsupportedSqlError, "Hint STATE_TTL"),
        (" /*+ OPTIONS */", SqlSyntaxError, r"expected '\(' after OPTIONS"),
        (" /*+ OPTIONS(a = 'b') */", SqlSyntaxError, "expected 'key' = 'value'"),
        (r" /*+ OPTIONS('a' = U&'\1') */", SqlSyntaxError, "expected four hexadecimal digits"),
        (" /*+ OPTIONS('a' 'b') */", SqlSyntaxError, "expected 'key' = 'value'"),
        (" /*+ OPTIONS('a' = b) */", SqlSyntaxError, "option value in single quotes"),
        (" /*+ OPTIONS('a' = 'b' 'c' = 'd') */", SqlSyntaxError, r"expected ',' or '\)'"),
        (" /*+ OPTIONS('a' = 'b'", SqlSyntaxError, r"expected ',' or '\)'"),
        (" /*+ OPTIONS('a' = 'b') x */", SqlSyntaxError, r"expected '\*/'"),
        (" /*+ OPTIONS('a' = 'b', 'a' = 'c') */", ConflictingOptionsError, "more than once"),
        (" /*+ OPTIONS('connector' = 'b') */", InvalidOptionError, "cannot be changed"),
    ],
)
def test_invalid_hints(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        parse_hint(QUERY + text, len(QUERY))


def test_a_misplaced_hint_is_rejected() -> None:
    sql = "SELECT /*+ BROADCAST(t) */ '/*+ OPTIONS(x) */' FROM t /*+ OPTIONS('a' = 'b') */ -- /*+ OPTIONS() */"
    hint = parse_hint(sql, sql.index("FROM t") + 6)
    assert hint is not None
    check_hint_positions(QueryText(sql), [hint])
    with pytest.raises(UnsupportedSqlError, match="line 1 must directly follow the name"):
        check_hint_positions(QueryText(sql), [])
