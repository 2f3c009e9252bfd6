"""A cursor over the first lexemes of a statement."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Lexeme


class Head:
    """Takes lexemes if they are what is asked for, and reads no further ahead than that."""

    def __init__(self, lexemes: Iterator[Lexeme]) -> None:
        self._lexemes = lexemes
        self._ahead: deque[Lexeme] = deque()
        self.end = 0  # where in the text the lexeme ends that was taken last

    def peek(self, index: int = 0) -> Lexeme | None:
        """The lexeme ``index`` places on, without taking it; None behind the last."""
        while len(self._ahead) <= index:
            lexeme = next(self._lexemes, None)
            if lexeme is None:
                return None
            self._ahead.append(lexeme)
        return self._ahead[index]

    @property
    def next(self) -> Lexeme | None:
        """The lexeme that is next."""
        return self.peek()

    def take(self) -> Lexeme | None:
        """Take the lexeme that is next."""
        if self.peek() is None:
            return None
        lexeme = self._ahead.popleft()
        self.end = lexeme.end
        return lexeme

    def words(self, *words: str) -> bool:
        """Take these keywords, if all of them are next."""
        for index, word in enumerate(words):
            lexeme = self.peek(index)
            if lexeme is None or lexeme.upper != word:
                return False
        for _ in words:
            self.take()
        return True

    def symbol(self, text: str) -> bool:
        """Take this symbol, if it is next."""
        lexeme = self.peek()
        return lexeme is not None and lexeme.kind == lexer.SYMBOL and lexeme.text == text and self.take() is not None

    def string(self) -> str | None:
        """Take a string literal of Flink's, if one is next: its value."""
        lexeme = self.peek()
        if lexeme is None or lexeme.kind != lexer.STRING:
            return None
        self.take()
        return lexeme.text[1:-1].replace("''", "'")

    def identifier(self) -> str | None:
        """Take a word or a quoted name, if one is next."""
        lexeme = self.peek()
        if lexeme is None or lexeme.kind not in (lexer.WORD, lexer.QUOTED):
            return None
        self.take()
        return lexeme.name

    def name(self) -> tuple[str, ...]:
        """Take a dotted name: its parts, or none where no name is next."""
        part = self.identifier()
        parts = []
        while part is not None:
            parts.append(part)
            if not self.symbol("."):
                return tuple(parts)
            part = self.identifier()
        return ()

    def at_end(self) -> bool:
        """Whether nothing but semicolons is left."""
        while self.symbol(";"):
            pass
        return self.peek() is None
