"""Test the tokens of the lexer, with sqlglot's lexer as an oracle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.dialects.spark import Spark
from sqlglot.tokens import TokenType

from kafka_sql.sql.recognize import lexer


class Flink(Spark):
    """Flink's literals and comments, without keywords."""

    IDENTIFIERS_CAN_START_WITH_DIGIT = False

    class Tokenizer(Spark.Tokenizer):
        QUOTES = ["'"]  # noqa: RUF012  sqlglot configures tokenizers this way
        STRING_ESCAPES = ["'"]  # noqa: RUF012
        RAW_STRINGS = []  # noqa: RUF012
        HEX_STRINGS = []  # noqa: RUF012
        NUMERIC_LITERALS = {}  # noqa: RUF012
        NESTED_COMMENTS = False
        COMMENTS = ["--", "//", ("/*", "*/")]  # noqa: RUF012
        COMMANDS = set()  # noqa: RUF012
        KEYWORDS = {  # noqa: RUF012
            "||": TokenType.DPIPE,
            "<>": TokenType.NEQ,
            "!=": TokenType.NEQ,
            "<=": TokenType.LTE,
            ">=": TokenType.GTE,
        }


FRAGMENTS = [
    *("SELECT", "t1", "2024_x", "`a ``b`", "'text'", "'it\\'s'", '"double"', "r'raw'", "12", "1.5", "é", "\n", " "),
    *("(", ")", ",", ".", "=", ";", "-- comment\n", "/* a ' comment */", "/* nested /* in */ it */"),
]


def tokenize(sql: str) -> list[tuple[str, str]]:
    return [(x.type, x.text) for x in lexer.tokenize_spark(sql)]


@pytest.mark.parametrize(
    ("sql", "tokens"),
    [
        ("", []),
        ("a1 `b``c`", [("word", "a1"), ("quoted", "`b``c`")]),
        (r"'it\'s' 'a''b'", [("string", r"'it\'s'"), ("string", "'a'"), ("string", "'b'")]),
        (r"'\\' x", [("string", r"'\\'"), ("word", "x")]),
        (r"r'\' x", [("string", r"r'\'"), ("word", "x")]),
        (
            "1 1.5 2e-3 10L 1a",
            [("number", "1"), ("number", "1.5"), ("number", "2e-3"), ("number", "10L"), ("word", "1a")],
        ),
        ("a -- 'b\n/* /* ' */ ' */ c", [("word", "a"), ("word", "c")]),
        ("a /* unclosed", [("word", "a")]),
        ("a 'unclosed", [("word", "a"), ("symbol", "'unclosed")]),
        ("|> => ->", [("symbol", "|>"), ("symbol", "=>"), ("symbol", "->")]),
    ],
)
def test_spark_tokens(sql: str, tokens: list[tuple[str, str]]) -> None:
    assert tokenize(sql) == tokens


def test_flink_doubles_quotes_and_has_no_backslash_escapes() -> None:
    tokens = [(x.type, x.text) for x in lexer.tokenize_flink(r"'a''b' '\' // c" + "\n/* /* */ `x``y` 1.5e3")]
    assert tokens == [("string", "'a''b'"), ("string", r"'\'"), ("quoted", "`x``y`"), ("number", "1.5e3")]


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'\00e9'", r"\00e9"),
        ("'it''s'", "it's"),
        (r"U&'\0001'", "\x01"),
        (r"u&'caf\00E9 it''s \\'", "café it's \\"),
        (r"U&'\D83D\DE00'", "\U0001f600"),
        (r"U&'d!0061t!!\0061' UESCAPE '!'", r"dat!\0061"),
        ("U&'#0061'\n  uescape'#'", "a"),
        ("U&''", ""),
    ],
)
def test_string_values(literal: str, value: str) -> None:
    (token,) = lexer.tokenize_flink(literal)
    assert (token.type, token.text) == ("string", literal)
    assert lexer.string_value(literal) == value


@pytest.mark.parametrize(
    "literal",
    [r"U&'\'", r"U&'\01'", r"U&'\00g0'", r"U&'\+000061'", r"U&'\D83D'", r"U&'\DE00\D83D'", "U&'a' UESCAPE ''"]
    + [f"U&'x' UESCAPE '{escape}'" for escape in ("a", "1", "+", "''", '"', " ", "!!")],
)
def test_invalid_unicode_escapes(literal: str) -> None:
    with pytest.raises(ValueError, match=r"expected four hexadecimal digits|UESCAPE expects one character"):
        lexer.string_value(literal)


@given(st.lists(st.sampled_from(FRAGMENTS)).map(" ".join))
def test_spark_agrees_with_sqlglot(sql: str) -> None:
    """sqlglot joins some words (``SELECT DISTINCT``), so our token starts are a superset of its token starts."""
    positions = {x.start: x for x in lexer.tokenize_spark(sql)}
    for token in Spark().tokenize(sql):
        assert token.start in positions
    assert all(sql[x.start : x.end] == x.text for x in positions.values())
    assert len(positions) == len(Spark().tokenize(sql))


@given(
    st.lists(st.sampled_from(["CREATE", "'a''b'", r"'\'", "`a``b`", "1.5", "(", "||", "<=", "-- c'\n", "/* ' */"])).map(
        " ".join
    )
)
def test_flink_agrees_with_the_dialect(sql: str) -> None:
    assert [(x.start, x.end) for x in lexer.tokenize_flink(sql)] == [
        (t.start, t.end + 1) for t in Flink().tokenize(sql)
    ]
