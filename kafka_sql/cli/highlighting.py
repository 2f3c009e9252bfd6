"""Highlight the syntax of a statement while it is typed."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from kafka_sql.cli.keywords import KEYWORDS
from kafka_sql.sql.recognize import lexer

STYLE = Style.from_dict(
    {
        "keyword": "bold",
        "string": "ansigreen",
        "number": "ansicyan",
        "comment": "ansibrightblack",
        "quoted": "ansiyellow",
    }
)


class SqlHighlighter(Lexer):
    """Styles each token; the text between tokens is whitespace and comments."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Return a function from a line number to the line's styled parts."""
        lines = styled_lines(document.text)
        return lambda number: lines[number] if number < len(lines) else []


def styled_lines(text: str) -> list[StyleAndTextTuples]:
    """Return each line as pairs of style and text."""
    parts: list[tuple[str, str]] = []
    end = 0
    for token in lexer.tokenize_spark(text):
        parts.append(("class:comment", text[end : token.start]))
        parts.append((_style(token), text[token.start : token.end]))
        end = token.end
    parts.append(("class:comment", text[end:]))
    lines: list[StyleAndTextTuples] = [[]]
    for style, part in parts:
        first, *next_lines = part.split("\n")
        lines[-1].append((style, first))
        lines.extend([(style, line)] for line in next_lines)
    return lines


def _style(token: lexer.Token) -> str:
    if token.type == lexer.WORD:
        return "class:keyword" if token.upper in KEYWORDS else ""
    return "" if token.type == lexer.SYMBOL else f"class:{token.type}"
