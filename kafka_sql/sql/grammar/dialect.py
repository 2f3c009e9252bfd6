"""Flink's dialect for sqlglot: Spark's, with the literals of Flink and the grammar of its DDL."""

from __future__ import annotations

from sqlglot.dialects.spark import Spark
from sqlglot.tokens import Token, TokenType

from kafka_sql.sql.grammar.alter_parser import AlterParser
from kafka_sql.sql.grammar.declaration import Alteration, Declaration
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import strip_semicolon


class Flink(Spark):
    """Only what DDL needs; queries are Spark's and stay as they were typed."""

    IDENTIFIERS_CAN_START_WITH_DIGIT = False

    class Tokenizer(Spark.Tokenizer):
        """Words are words: which of them are keywords is up to the grammar, so ``timestamp`` can name a column."""

        QUOTES = ["'"]  # noqa: RUF012  sqlglot's way of settings
        STRING_ESCAPES = ["'"]  # noqa: RUF012  a backslash is a character like any other
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

    Parser = AlterParser


def parse_declaration(sql: str) -> Declaration:
    """One CREATE TABLE as it was typed.

    Raises:
        TokenError: a quote is not closed. sqlglot's message quotes the statement: do not show it.
        FlinkParseError: the statement does not parse.
    """
    head, query = _without_query(sql)
    tokens: list[Token] = Flink().tokenize(head)
    return AlterParser(dialect=Flink).create_table(tokens, sql, query)


def parse_alteration(sql: str) -> Alteration:
    """One ALTER TABLE as it was typed.

    Raises:
        TokenError: a quote is not closed. sqlglot's message quotes the statement: do not show it.
        FlinkParseError: the statement does not parse.
    """
    tokens: list[Token] = Flink().tokenize(sql)
    return AlterParser(dialect=Flink).alter_table(tokens, sql)


def _without_query(sql: str) -> tuple[str, str | None]:
    """The statement up to AS, and the query behind it, which is Spark's and not read here."""
    depth, last = 0, ""
    for lexeme in lexer.tokenize_flink(sql):
        depth += {"(": 1, ")": -1}.get(lexeme.text, 0)
        if depth == 0 and lexeme.upper == "AS" and last not in (".", "TABLE", "EXISTS"):
            return sql[: lexeme.start], strip_semicolon(sql, lexeme.end).strip()
        last = lexeme.upper or lexeme.text
    return sql, None
