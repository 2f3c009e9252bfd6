"""Statements in colours while they are typed."""

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
    """A style for each lexeme; what lies between them is white space and comments."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """The styled parts of a line, by its number."""
        lines = styled_lines(document.text)
        return lambda number: lines[number] if number < len(lines) else []


def styled_lines(text: str) -> list[StyleAndTextTuples]:
    """Each line as pairs of style and text."""
    parts: list[tuple[str, str]] = []
    end = 0
    for lexeme in lexer.tokenize_spark(text):
        parts.append(("class:comment", text[end : lexeme.start]))
        parts.append((_style(lexeme), text[lexeme.start : lexeme.end]))
        end = lexeme.end
    parts.append(("class:comment", text[end:]))
    lines: list[StyleAndTextTuples] = [[]]
    for style, part in parts:
        first, *more = part.split("\n")
        lines[-1].append((style, first))
        lines.extend([(style, line)] for line in more)
    return lines


def _style(lexeme: lexer.Token) -> str:
    if lexeme.type == lexer.WORD:
        return "class:keyword" if lexeme.upper in KEYWORDS else ""
    return "" if lexeme.type == lexer.SYMBOL else f"class:{lexeme.type}"
