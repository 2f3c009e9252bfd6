"""Edit statements at the prompt, with history, completion and highlighting."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.document import Document
from prompt_toolkit.filters import completion_is_selected
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from kafka_sql.cli.completion import KEYWORDS, SqlCompleter
from kafka_sql.cli.runner import Runner
from kafka_sql.cli.shell import PromptReader, continuation_prompt, is_complete
from kafka_sql.sql.recognize import lexer
from kafka_sql.statement_masking import mask_statement

_HISTORY: Final = Path("~/.kafka_sql_history")
_STYLE: Final = Style.from_dict(
    {
        "keyword": "bold",
        "string": "ansigreen",
        "number": "ansicyan",
        "comment": "ansibrightblack",
        "quoted": "ansiyellow",
    }
)


def editor(runner: Runner) -> PromptReader:
    """Return a function that reads a statement with prompt_toolkit."""
    try:
        history: History = MaskedHistory(_HISTORY.expanduser())
    except OSError as e:
        runner.screen.error(f"The history cannot be stored in {_HISTORY}: {e.strerror}.")
        history = InMemoryHistory()
    keys = KeyBindings()

    @keys.add("enter", filter=~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    completer = SqlCompleter(runner.spark)
    session: PromptSession[str] = PromptSession(
        history=history,
        completer=completer,
        complete_in_thread=True,
        complete_while_typing=False,
        key_bindings=keys,
        lexer=SqlHighlighter(),
        style=_STYLE,
        multiline=True,
        prompt_continuation=lambda width, line, wrap: continuation_prompt(" " * width),
    )

    def read(prompt: str) -> str:
        completer.invalidate()
        return session.prompt(prompt)

    return read


class MaskedHistory(FileHistory):
    """prompt_toolkit's history file, only for its owner, with the values of secret options replaced by ``******``."""

    def __init__(self, path: Path) -> None:
        """Create the file, or restrict an existing one to its owner."""
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
        super().__init__(str(path))

    def store_string(self, string: str) -> None:
        super().store_string(mask_statement(string))


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
