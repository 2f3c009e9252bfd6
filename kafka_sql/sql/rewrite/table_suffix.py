"""What follows a table's name in FROM: options, a sample, Spark's watermark clause, an alias."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token

# Words that follow a relation and are not its alias.
_NO_ALIAS = set(
    """ANTI CLUSTER CROSS DISTRIBUTE EXCEPT FULL GROUP HAVING INNER INSERT INTERSECT JOIN LATERAL LEFT LIMIT MINUS
    NATURAL OFFSET ON ORDER PIVOT QUALIFY RIGHT SELECT SEMI SETMINUS SORT TABLESAMPLE UNION UNPIVOT USING WHERE
    WINDOW""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Suffix:
    """What follows the name."""

    alias: bool
    watermark: bool
    sample: bool
    options: bool
    end: int  # how many lexemes it has to where an alias stands, from the start of the text


def table_suffix(lexemes: list[Token], at: int) -> Suffix:
    """What follows a table's name that ends before ``lexemes[at]``."""
    options = _word(lexemes, at) == "WITH" and _text(lexemes, at + 1) == "("
    if options:
        at = _behind_group(lexemes, at + 1)
    sample = _word(lexemes, at) == "TABLESAMPLE"
    if sample:
        at = _behind_group(lexemes, at + 1)
        if _word(lexemes, at) == "REPEATABLE":
            at = _behind_group(lexemes, at + 1)
    behind = _behind_watermark(lexemes, at)
    end = at if behind is None else behind
    return Suffix(_is_alias(lexemes, end), behind is not None, sample, options, end)


def _is_alias(lexemes: list[Token], at: int) -> bool:
    if at >= len(lexemes) or lexemes[at].type not in (lexer.WORD, lexer.QUOTED):
        return False
    return lexemes[at].upper not in _NO_ALIAS


def _behind_watermark(lexemes: list[Token], at: int) -> int | None:
    """Where ``WATERMARK expression DELAY OF INTERVAL ...`` ends; None where there is none."""
    if _word(lexemes, at) != "WATERMARK":
        return None
    while (word := _word(lexemes, at)) != "DELAY":
        at = _behind_group(lexemes, at) if _text(lexemes, at) == "(" else at + 1
        if at >= len(lexemes) or word in _NO_ALIAS or _text(lexemes, at) in (",", ")", ";"):
            return None
    if _word(lexemes, at + 1) != "OF":
        return None
    at += 2 + (_word(lexemes, at + 2) == "INTERVAL")
    while at < len(lexemes) and (lexemes[at].type in (lexer.NUMBER, lexer.STRING) or lexemes[at].text == "-"):
        at += 2 if lexemes[at].text != "-" else 1  # the number or text, and its unit
        at += 2 * (_word(lexemes, at) == "TO")
    return at


def _behind_group(lexemes: list[Token], at: int) -> int:
    """The place behind the parentheses that open at ``at``."""
    depth = 0
    while at < len(lexemes):
        depth += {"(": 1, ")": -1}.get(_text(lexemes, at), 0)
        at += 1
        if depth == 0:
            break
    return at


def _word(lexemes: list[Token], at: int) -> str:
    return lexemes[at].upper if at < len(lexemes) else ""


def _text(lexemes: list[Token], at: int) -> str:
    return lexemes[at].text if at < len(lexemes) and lexemes[at].type == lexer.SYMBOL else ""
