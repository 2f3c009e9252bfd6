"""Parse Flink's CREATE TABLE and ALTER TABLE, types and expressions, without validating them.

What does not parse raises a SqlSyntaxError, whose message never contains option values. Clauses of a statement that
Kafka tables do not support raise an UnsupportedSqlError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Final, TypeVar

from sqlglot import exp

from kafka_sql.errors import SqlSyntaxError
from kafka_sql.sql.grammar.alter_parser import StatementParser
from kafka_sql.sql.grammar.statement_nodes import Alteration, Declaration
from kafka_sql.sql.grammar.types import FlinkType
from kafka_sql.sql.recognize import lexer

T = TypeVar("T")

TOO_DEEP: Final = "brackets, operators or types are nested too deeply"


def parse_declaration(sql: str) -> Declaration:
    """Parse one CREATE TABLE statement. The query after AS is Spark SQL, and not parsed.

    Raises:
        SqlSyntaxError: the statement does not parse. The message never contains option values.
        UnsupportedSqlError: an unsupported clause inside the column list.
    """
    query_start: int | None = None
    depth, last = 0, ""

    def is_before_query(token: lexer.Token) -> bool:
        nonlocal depth, last, query_start
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.upper == "AS" and last not in (".", "TABLE", "EXISTS"):
            query_start = token.end
        last = token.upper or token.text
        return query_start is None

    tokens = list(takewhile(is_before_query, lexer.tokenize_flink(sql)))
    query = None if query_start is None else lexer.strip_semicolon(sql, query_start).strip()
    return _parse(sql, tokens, lambda parser: parser.read_create_table(query))


def parse_alteration(sql: str) -> Alteration:
    """Parse one ALTER TABLE statement.

    Raises:
        SqlSyntaxError: the statement does not parse. The message never contains option values.
        UnsupportedSqlError: a clause that Kafka tables do not support.
    """
    return _parse(sql, lexer.tokenize_flink(sql), StatementParser.read_alter_table)


def parse_type(text: str) -> FlinkType:
    """Parse a type with its [NOT] NULL.

    Raises:
        SqlSyntaxError: the text does not parse.
    """
    return _parse(text, lexer.tokenize_flink(text), lambda parser: parser.read_type("the column"))


def parse_expression(text: str) -> exp.Expr:
    """Parse the expression of a computed column or a watermark."""
    return _parse(text, lexer.tokenize_flink(text), StatementParser.read_expression)


def _parse(sql: str, tokens: Iterable[lexer.Token], read: Callable[[StatementParser], T]) -> T:
    try:
        parser = StatementParser(sql, tokens)
        result = read(parser)
        parser.expect_end()
        return result
    except RecursionError:
        raise SqlSyntaxError(f"The statement's {TOO_DEEP}.") from None
