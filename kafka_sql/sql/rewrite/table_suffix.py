"""Parse what follows a table name in FROM: options, a time, TABLESAMPLE, Spark's WATERMARK clause and an alias."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.rewrite.as_of import AsOf, parse_as_of, starts_with_as_of

# Words that can follow a relation and are not an alias.
_NOT_ALIASES = set(
    """ANTI CLUSTER CROSS DISTRIBUTE EXCEPT FULL GROUP HAVING INNER INSERT INTERSECT JOIN LATERAL LEFT LIMIT MINUS
    NATURAL OFFSET ON ORDER PIVOT QUALIFY RIGHT SELECT SEMI SETMINUS SORT TABLESAMPLE UNION UNPIVOT USING WHERE
    WINDOW""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class TableSuffix:
    """The clauses after a table name."""

    has_alias: bool
    has_watermark: bool
    has_sample: bool
    has_options: bool
    end: int  # index of the token where an alias is or could be
    as_of: AsOf | None = None
    alias: str = ""


def parse_table_suffix(tokens: list[Token], index: int) -> TableSuffix:
    """Parse the clauses after a table name that ends before ``tokens[index]``."""
    has_options = _word(tokens, index) == "WITH" and _text(tokens, index + 1) == "("
    if has_options:
        index = _skip_parentheses(tokens, index + 1)
    parsed = parse_as_of(tokens, index)
    as_of, index = parsed or (None, index)
    has_sample = _word(tokens, index) == "TABLESAMPLE"
    if has_sample:
        index = _skip_parentheses(tokens, index + 1)
        if _word(tokens, index) == "REPEATABLE":
            index = _skip_parentheses(tokens, index + 1)
    after_watermark = _skip_watermark(tokens, index)
    end = index if after_watermark is None else after_watermark
    has_alias = _is_alias(tokens, end)
    alias = end + (_word(tokens, end) == "AS")
    name = tokens[alias].name if has_alias and alias < len(tokens) else ""
    return TableSuffix(has_alias, after_watermark is not None, has_sample, has_options, end, as_of, name)


def _is_alias(tokens: list[Token], index: int) -> bool:
    if index >= len(tokens) or tokens[index].type not in (lexer.WORD, lexer.QUOTED):
        return False
    return tokens[index].upper not in _NOT_ALIASES and not starts_with_as_of(tokens, index)


def _skip_watermark(tokens: list[Token], index: int) -> int | None:
    """Return the index after ``WATERMARK expression DELAY OF INTERVAL ...``, or None if there is no such clause."""
    if _word(tokens, index) != "WATERMARK":
        return None
    while (word := _word(tokens, index)) != "DELAY":
        index = _skip_parentheses(tokens, index) if _text(tokens, index) == "(" else index + 1
        if index >= len(tokens) or word in _NOT_ALIASES or _text(tokens, index) in (",", ")", ";"):
            return None
    if _word(tokens, index + 1) != "OF":
        return None
    index += 2 + (_word(tokens, index + 2) == "INTERVAL")
    while index < len(tokens) and (tokens[index].type in (lexer.NUMBER, lexer.STRING) or tokens[index].text == "-"):
        index += 2 if tokens[index].text != "-" else 1  # the number or string, and its unit
        index += 2 * (_word(tokens, index) == "TO")
    return index


def _skip_parentheses(tokens: list[Token], index: int) -> int:
    """Return the index after the parentheses that open at ``index``."""
    depth = 0
    while index < len(tokens):
        depth += {"(": 1, ")": -1}.get(_text(tokens, index), 0)
        index += 1
        if depth == 0:
            break
    return index


def _word(tokens: list[Token], index: int) -> str:
    return tokens[index].upper if index < len(tokens) else ""


def _text(tokens: list[Token], index: int) -> str:
    return tokens[index].text if index < len(tokens) and tokens[index].type == lexer.SYMBOL else ""
