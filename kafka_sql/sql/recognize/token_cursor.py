"""Read the first tokens of a statement through a cursor."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from kafka_sql.errors import SqlSyntaxError
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token


class TokenCursor:
    """A cursor that takes expected tokens and reads no further ahead than needed."""

    def __init__(self, tokens: Iterator[Token]) -> None:
        self._tokens = tokens
        self._lookahead: deque[Token] = deque()
        self.end = 0  # end offset of the last token taken

    def peek(self, index: int = 0) -> Token | None:
        """Return the token ``index`` positions ahead without taking it, or None after the last token."""
        while len(self._lookahead) <= index:
            token = next(self._tokens, None)
            if token is None:
                return None
            self._lookahead.append(token)
        return self._lookahead[index]

    def take(self) -> Token | None:
        """Take the next token; return None at the end."""
        if self.peek() is None:
            return None
        token = self._lookahead.popleft()
        self.end = token.end
        return token

    def starts_with(self, *words: str) -> bool:
        """Return whether these keywords come next."""
        for index, word in enumerate(words):
            token = self.peek(index)
            if token is None or token.upper != word:
                return False
        return True

    def take_words(self, *words: str) -> bool:
        """Take these keywords if all of them come next; return whether they did."""
        is_next = self.starts_with(*words)
        for _ in words if is_next else ():
            self.take()
        return is_next

    def take_symbol(self, text: str) -> bool:
        """Take this symbol if it comes next; return whether it did."""
        token = self.peek()
        return token is not None and token.type == lexer.SYMBOL and token.text == text and self.take() is not None

    def take_string(self) -> str | None:
        """Take a Flink string literal if one comes next; return its value or None.

        Raises:
            SqlSyntaxError: an escape in it is malformed.
        """
        token = self.peek()
        if token is None or token.type != lexer.STRING:
            return None
        self.take()
        try:
            return lexer.string_value(token.text)
        except ValueError as e:
            raise SqlSyntaxError(f"Invalid string literal U&'...': {e}.") from None

    def take_identifier(self) -> str | None:
        """Take a word or a quoted name if one comes next; return the identifier or None."""
        token = self.peek()
        if token is None or token.type not in (lexer.WORD, lexer.QUOTED):
            return None
        self.take()
        return token.name

    def take_name(self) -> tuple[str, ...]:
        """Take a dotted name; return its parts, or an empty tuple if no valid name comes next."""
        part = self.take_identifier()
        parts = []
        while part is not None:
            parts.append(part)
            if not self.take_symbol("."):
                return tuple(parts)
            part = self.take_identifier()
        return ()

    def is_at_end(self) -> bool:
        """Return whether only semicolons are left, and take them."""
        while self.take_symbol(";"):
            pass
        return self.peek() is None
