"""The text of a statement or a query, and what its tokens tell. It is read once, when it is first needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token


@dataclass(frozen=True)
class QueryText:
    """A statement or a query in Spark's syntax, with Flink's additions.

    Attributes:
        text: as written.
    """

    text: str = field(repr=False)  # hints may contain secrets

    @cached_property
    def _all_tokens(self) -> list[Token]:
        return list(lexer.tokenize_spark_with_hints(self.text))

    @cached_property
    def tokens(self) -> list[Token]:
        """All tokens, without hints."""
        return [token for token in self._all_tokens if token.type != lexer.HINT]

    @cached_property
    def hints(self) -> list[Token]:
        """The hints, each one token."""
        return [token for token in self._all_tokens if token.type == lexer.HINT]
