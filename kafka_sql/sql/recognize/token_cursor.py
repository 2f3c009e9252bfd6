"""A cursor over the first tokens of a statement."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token


class TokenCursor:
    """Takes tokens if they are what is asked for, and reads no further ahead than that."""

    def __init__(self, tokens: Iterator[Token]) -> None:
        self._tokens = tokens
        self._ahead: deque[Token] = deque()
        self.end = 0  # where in the text the token ends that was taken last

    def peek(self, index: int = 0) -> Token | None:
        """The token ``index`` places on, without taking it; None behind the last."""
        while len(self._ahead) <= index:
            token = next(self._tokens, None)
            if token is None:
                return None
            self._ahead.append(token)
        return self._ahead[index]

    @property
    def next(self) -> Token | None:
        """The token that is next."""
        return self.peek()

    def take(self) -> Token | None:
        """Take the token that is next."""
        if self.peek() is None:
            return None
        token = self._ahead.popleft()
        self.end = token.end
        return token

    def take_words(self, *words: str) -> bool:
        """Take these keywords, if all of them are next."""
        for index, word in enumerate(words):
            token = self.peek(index)
            if token is None or token.upper != word:
                return False
        for _ in words:
            self.take()
        return True

    def take_symbol(self, text: str) -> bool:
        """Take this symbol, if it is next."""
        token = self.peek()
        return token is not None and token.type == lexer.SYMBOL and token.text == text and self.take() is not None

    def take_string(self) -> str | None:
        """Take a string literal of Flink's, if one is next: its value."""
        token = self.peek()
        if token is None or token.type != lexer.STRING:
            return None
        self.take()
        return token.text[1:-1].replace("''", "'")

    def take_identifier(self) -> str | None:
        """Take a word or a quoted name, if one is next."""
        token = self.peek()
        if token is None or token.type not in (lexer.WORD, lexer.QUOTED):
            return None
        self.take()
        return token.name

    def take_name(self) -> tuple[str, ...]:
        """Take a dotted name: its parts, or none where no name is next."""
        part = self.take_identifier()
        parts = []
        while part is not None:
            parts.append(part)
            if not self.take_symbol("."):
                return tuple(parts)
            part = self.take_identifier()
        return ()

    def is_at_end(self) -> bool:
        """Whether nothing but semicolons is left."""
        while self.take_symbol(";"):
            pass
        return self.peek() is None
