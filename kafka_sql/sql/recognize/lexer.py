"""Lexemes of a statement, one at a time, with their places in the text.

A statement is recognized by its first few words, and a query's tables are found by position, so neither needs a tree,
and a long text must not be read to its end to learn that it is somebody else's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

WORD, QUOTED, STRING, NUMBER, SYMBOL, HINT = "word", "quoted", "string", "number", "symbol", "hint"


class Token(NamedTuple):
    """A word, a quoted name, a string, a number or a symbol: ``sql[start:end]``."""

    type: str
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The word as keywords are spelled; empty for what cannot be a keyword."""
        return self.text.upper() if self.type == WORD else ""

    @property
    def name(self) -> str:
        """The identifier that a word or a quoted name stands for."""
        return self.text[1:-1].replace("``", "`") if self.type == QUOTED else self.text


# What is not closed is one symbol up to the end: to look for its end again and again would take quadratic time.
# Flink doubles a quote and knows no backslash escapes; comments do not nest, and // starts one too.
_FLINK = re.compile(
    r"""(?P<skip>\s+|--[^\r\n]*|//[^\r\n]*
      |/\*\+[^'*]*(?:(?:\*(?!/)|'[^']*')[^'*]*)*\*/|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)
    |(?P<open>/\*.*)
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?!\w))
    |(?P<word>\w+)
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<string>'(?:[^']|'')*')
    |(?P<symbol>\|\||<>|<=|>=|.)""",
    re.VERBOSE | re.DOTALL,
)

# Spark escapes by backslash, has raw and double-quoted strings, and nests comments, which no pattern can count.
_SPARK = re.compile(
    r"""(?P<skip>\s+|--(?:\\\n|[^\r\n])*)
    |(?P<comment>/\*)
    |(?P<string>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<open>['"].*)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:[LSYDF]|BD)?(?!\w))
    |(?P<word>\w+)
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<symbol>\|>|=>|->|.)""",
    re.VERBOSE | re.DOTALL,
)
_KINDS = {kind: kind for kind in (WORD, QUOTED, STRING, NUMBER, SYMBOL, "skip", "comment")}
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_HINT_EDGE = re.compile(r"'[^']*'|\*/")


def tokenize_flink(sql: str, start: int = 0) -> Iterator[Token]:
    """The tokens of Flink's DDL from the character ``start`` on."""
    for match in _FLINK.finditer(sql, start):
        kind = _KINDS.get(match.lastgroup or "", SYMBOL)
        if kind != "skip":
            yield Token(kind, match[0], match.start(), match.end())


def tokenize_spark(sql: str, start: int = 0) -> Iterator[Token]:
    """The tokens of one of Spark's statements from the character ``start`` on, without its hints."""
    return (token for token in tokenize_spark_with_hints(sql, start) if token.type != HINT)


def tokenize_spark_with_hints(sql: str, start: int = 0) -> Iterator[Token]:
    """The same with each hint, ``/*+ ... */``, as one token."""
    while match := _SPARK.match(sql, start):
        kind, start = _KINDS.get(match.lastgroup or "", SYMBOL), match.end()
        if kind == "comment" and sql.startswith("+", start):
            start = _hint_end(sql, start)
            yield Token(HINT, sql[match.start() : start], match.start(), start)
        elif kind == "comment":
            start = _comment_end(sql, start)
        elif kind != "skip":
            yield Token(kind, match[0], match.start(), start)


def _hint_end(sql: str, start: int) -> int:
    """Where a hint ends; its literals may hold the characters of an end."""
    return next((m.end() for m in _HINT_EDGE.finditer(sql, start) if m[0] == "*/"), len(sql))


def strip_semicolon(sql: str, start: int) -> str:
    """A statement of Spark's that starts at ``start``, unchanged, without the semicolons at its end."""
    body = sql[start:]
    if ";" not in body:
        return body
    end = len(sql)
    for token in tokenize_spark(sql, start):
        if token.text != ";":
            end = len(sql)
        elif end == len(sql):
            end = token.start
    return sql[start:end]


def _comment_end(sql: str, start: int) -> int:
    """Where the bracketed comment ends whose text starts at ``start``; the end of the text if it is not closed."""
    depth = 1
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(sql)
