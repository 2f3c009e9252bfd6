"""A cursor over the tokens of a statement: sqlglot's parser with the tokens of this package's lexer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NoReturn, TypeVar

from sqlglot.parser import SENTINEL_NONE, Parser
from sqlglot.tokens import Token, Tokenizer, TokenType

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.syntax_error import syntax_error, unclosed_quote_error

T = TypeVar("T")

MAX_DEPTH: Final = 50  # nesting levels of an expression or a type
_TYPES: Final = {lexer.WORD: TokenType.VAR, lexer.QUOTED: TokenType.IDENTIFIER, lexer.NUMBER: TokenType.NUMBER}
_SYMBOLS: Final = {
    **Tokenizer.SINGLE_TOKENS,
    "||": TokenType.DPIPE,
    "<>": TokenType.NEQ,
    "!=": TokenType.NEQ,
    "<=": TokenType.LTE,
    ">=": TokenType.GTE,
}


def shorten_name(name: str) -> str:
    """Return a name for an error message, cut short if a missing quote made it swallow half the statement."""
    head = name.partition("\n")[0][:40]
    return head if head == name else head.partition("'")[0] + "..."


class Cursor(Parser):
    """Takes tokens from a statement. A word is a keyword only where the grammar expects it, and else a name."""

    def __init__(self, sql: str, tokens: Iterable[lexer.Token]) -> None:
        """Start at the first token. Trailing semicolons are ignored.

        Raises:
            SqlSyntaxError: an unclosed quote or comment, or an invalid escape in ``U&'...'``.
        """
        super().__init__()
        self.sql, self._depth = sql, 0
        converted = [_convert(sql, token) for token in tokens]
        while converted and converted[-1].token_type == TokenType.SEMICOLON:
            converted.pop()
        self._chunks = [converted]
        self._advance_chunk()

    def fail(self, message: str, token: Token = SENTINEL_NONE) -> NoReturn:
        """Raise a SqlSyntaxError at a token, by default at the next one, or after the last one."""
        token = token or self._curr
        if token:
            raise syntax_error(self.sql, token.start, token.end + 1, message)
        end = self._prev.end + 1 if self._prev else len(self.sql)
        raise syntax_error(self.sql, end, end, message)

    def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> None:
        """Raise sqlglot's own errors, which would quote the statement with its secrets."""
        self.fail(message, token)

    @contextmanager
    def nested(self, what: str) -> Iterator[None]:
        """Enter a nesting level; fail before Python's stack overflows."""
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                self.fail(f"{what} is nested more than {MAX_DEPTH} levels deep")
            yield
        finally:
            self._depth -= 1

    def take_words(self, *words: str) -> bool:
        return bool(self._match_text_seq(*words))

    def take_one_of(self, choices: Iterable[str]) -> str:
        """Take the first of the choices, of one or more words, that comes next, and return it; empty if none does."""
        return next((words for words in choices if self.take_words(*words.split())), "")

    def is_word(self, word: str) -> bool:
        return bool(self._match_text_seq(word, advance=False))

    def expect_words(self, *words: str, message: str) -> None:
        if not self.take_words(*words):
            self.fail(message)

    def expect(self, type: TokenType, message: str) -> Token:
        if not self._match(type):
            self.fail(message)
        return self._prev

    def expect_end(self) -> None:
        """Fail if any token is left."""
        if self._curr:
            self.fail("expected the end of the statement")

    def take_identifier(self, what: str) -> str:
        """Take an identifier: an unquoted word, or anything in backquotes."""
        if self._curr.token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
            self.fail(f"expected {what}")
        self._advance()
        return self._prev.text

    def take_string(self, what: str) -> str:
        return self.expect(TokenType.STRING, f"expected {what} in single quotes").text

    def take_integer(self) -> int:
        """Take an unsigned integer of at most 2147483647, the length of a STRING."""
        text = self.expect(TokenType.NUMBER, "expected an integer").text
        if not (text.isdecimal() and text.isascii()):
            self.fail("expected an integer", self._prev)
        if len(text) > 10 or int(text) > 2**31 - 1:
            self.fail("the number is too large", self._prev)
        return int(text)

    def read_table_name(self) -> tuple[str, ...]:
        parts = [self.take_identifier("a table name")]
        while self._match(TokenType.DOT):
            parts.append(self.take_identifier("the next part of the table name"))
        return tuple(parts)

    def read_list(self, read: Callable[[], T], closing: TokenType, message: str) -> list[T]:
        """Read one or more items, separated by commas, and the closing bracket; ``message`` is the error without it."""
        items = [read()]
        while self._match(TokenType.COMMA):
            items.append(read())
        self.expect(closing, message)
        return items

    def skip_group(self, opening: TokenType, closing: TokenType) -> bool:
        """Skip a bracketed group if one comes next; return whether it did."""
        if not self._match(opening):
            return False
        start, depth = self._prev, 1
        while depth:
            if not self._curr:
                self.fail("unclosed bracket", start)
            depth += {opening: 1, closing: -1}.get(self._curr.token_type, 0)
            self._advance()
        return True


def _convert(sql: str, token: lexer.Token) -> Token:
    """Return a token as sqlglot's, whose text is the value of a string or a quoted name."""
    type, text = _TYPES.get(token.type), token.name
    if token.type == lexer.STRING:
        try:
            type, text = TokenType.STRING, lexer.string_value(token.text)
        except ValueError as e:
            raise syntax_error(sql, token.start, token.end, str(e)) from None
    elif token.type == lexer.SYMBOL:
        if text in ("'", "`"):
            raise unclosed_quote_error(sql, token.start)
        if text.startswith("/*"):
            raise syntax_error(sql, token.start, token.start + 2, "unclosed comment")
        type = _SYMBOLS.get(text)
    elif token.type == lexer.WORD and text[0].isdecimal():  # in Flink, a name does not start with a digit
        type = TokenType.NUMBER
    return Token(type or TokenType.UNKNOWN, text, start=token.start, end=token.end - 1)
