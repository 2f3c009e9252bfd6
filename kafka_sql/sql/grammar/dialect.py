"""sqlglot dialect for Flink: Spark's dialect with Flink's literals and DDL grammar."""

from __future__ import annotations

from bisect import bisect_left

from sqlglot.dialects.spark import Spark
from sqlglot.tokens import Token, TokenType

from kafka_sql.sql.grammar.alter_parser import AlterParser
from kafka_sql.sql.grammar.declaration import Alteration, Declaration
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import strip_semicolon
from kafka_sql.sql.recognize.syntax_error import syntax_error


class Flink(Spark):
    """Only what DDL needs; queries are written in Spark SQL and not changed."""

    IDENTIFIERS_CAN_START_WITH_DIGIT = False

    class Tokenizer(Spark.Tokenizer):
        """Tokenizer without keywords. The grammar decides what a keyword is, so ``timestamp`` can name a column."""

        QUOTES = ["'"]  # noqa: RUF012  sqlglot configures tokenizers this way
        STRING_ESCAPES = ["'"]  # noqa: RUF012  a backslash is an ordinary character
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
    """Parse one CREATE TABLE statement.

    Raises:
        TokenError: unclosed quote. Do not show sqlglot's message, because it quotes the statement.
        FlinkParseError, SqlSyntaxError: the statement does not parse.
    """
    ddl, query = _split_query(sql)
    return AlterParser(dialect=Flink).read_create_table(_tokenize(ddl), sql, query)


def parse_alteration(sql: str) -> Alteration:
    """Parse one ALTER TABLE statement.

    Raises:
        TokenError: unclosed quote. Do not show sqlglot's message, because it quotes the statement.
        FlinkParseError, SqlSyntaxError: the statement does not parse.
    """
    return AlterParser(dialect=Flink).read_alter_table(_tokenize(sql), sql)


def _tokenize(sql: str) -> list[Token]:
    """Return sqlglot's tokens, with each literal ``U&'...'`` as one string."""
    tokens: list[Token] = Flink().tokenize(sql)
    if "&'" not in sql:
        return tokens
    literals = [t for t in lexer.tokenize_flink(sql) if t.type == lexer.STRING and t.text[0] != "'"]
    starts = [token.start for token in tokens]
    for literal in reversed(literals):
        first, end = bisect_left(starts, literal.start), bisect_left(starts, literal.end)
        try:
            value = lexer.string_value(literal.text)
        except ValueError as e:
            raise syntax_error(sql, literal.start, literal.end, str(e)) from None
        old = tokens[first]
        tokens[first:end] = [Token(TokenType.STRING, value, old.line, old.col, literal.start, literal.end - 1)]
    return tokens


def _split_query(sql: str) -> tuple[str, str | None]:
    """Split the statement into the text up to AS and the query after it, which is Spark SQL and not parsed here."""
    depth, last = 0, ""
    for token in lexer.tokenize_flink(sql):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.upper == "AS" and last not in (".", "TABLE", "EXISTS"):
            return sql[: token.start], strip_semicolon(sql, token.end).strip()
        last = token.upper or token.text
    return sql, None
