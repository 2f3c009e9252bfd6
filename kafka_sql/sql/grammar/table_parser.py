"""The grammar of CREATE TABLE, into a declaration: what was typed, not yet whether it makes sense."""

from __future__ import annotations

from typing import Final

from sqlglot.tokens import Token, TokenType

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.grammar.declaration import (
    ColumnDeclaration,
    Declaration,
    KeyDeclaration,
    LikeDeclaration,
    WatermarkDeclaration,
)
from kafka_sql.sql.grammar.expression_parser import ExpressionParser
from kafka_sql.sql.grammar.type_parser import shorten_name

# Clauses that Flink has around the column list and WITH, and that are not carried out here.
_UNSUPPORTED: Final = (("DISTRIBUTED",), ("PARTITIONED", "BY"), ("USING", "CONNECTION"))
_STRATEGIES: Final = ("INCLUDING", "EXCLUDING", "OVERWRITING")
_FEATURES: Final = (
    "ALL",
    "CONSTRAINTS",
    "DISTRIBUTION",
    "GENERATED",
    "METADATA",
    "OPTIONS",
    "PARTITIONS",
    "WATERMARKS",
)


class TableParser(ExpressionParser):
    """Types, expressions, and CREATE TABLE."""

    def create_table(self, tokens: list[Token], sql: str, query: str | None) -> Declaration:
        """The declaration of one statement.

        Args:
            tokens: of the statement up to AS.
            query: what stands behind AS.

        Raises:
            FlinkParseError: the statement does not parse.
            UnsupportedSqlError: a clause that stands inside the column list and is not carried out.
        """
        self.start(tokens, sql)
        self._has_query = query is not None
        declaration = self._create()
        if declaration.unsupported is None:
            self.end()
        declaration.query = query
        return declaration

    def start(self, tokens: list[Token], sql: str) -> None:
        """Stand before the first token; semicolons at the end are dropped."""
        self.reset()
        self.sql = sql
        self._has_query = False
        while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
            tokens = tokens[:-1]
        self._chunks = [tokens]
        self._advance_chunk()

    def end(self) -> None:
        """Nothing may be left."""
        if self._curr:
            self.fail("expected the end of the statement")

    def _create(self) -> Declaration:
        created = self.words("CREATE")
        replace = self.words("OR", "REPLACE") if created else self.words("REPLACE")
        if not (created or replace):
            self.fail("expected CREATE TABLE")
        temporary = self.words("TEMPORARY")
        if not self.words("TABLE"):
            self.fail("expected TABLE")
        if_not_exists = not replace and self.words("IF", "NOT", "EXISTS")
        declaration = Declaration(self.table_name(), temporary, if_not_exists, replace)
        if self._match(TokenType.L_PAREN):
            self._elements_of(declaration)
        if self.words("COMMENT"):
            declaration.comment = self.string("the table's comment")
        if self._stops(declaration) or self._likes(declaration):
            return declaration
        if self.words("WITH"):
            declaration.options = self.options("WITH")
        if declaration.like is None:
            self._stops(declaration) or self._likes(declaration)
        return declaration

    def _stops(self, declaration: Declaration) -> bool:
        for clause in _UNSUPPORTED:
            if self.words(*clause):
                declaration.unsupported = " ".join(clause)
                return True
        return False

    def _likes(self, declaration: Declaration) -> bool:
        """Take LIKE; whether the statement ends with it, as WITH may follow where Flink has it before."""
        if not self.words("LIKE"):
            return False
        base = self.table_name()
        options = []
        if self._match(TokenType.L_PAREN):
            while not self._match(TokenType.R_PAREN):
                strategy = self._one_of(_STRATEGIES)
                options.append((strategy, self._one_of(_FEATURES)))
        declaration.like = LikeDeclaration(base, tuple(options))
        return not self._match_text_seq("WITH", advance=False)

    def _one_of(self, words: tuple[str, ...]) -> str:
        if not any(self.words(word) for word in words):
            self.fail(f"expected {', '.join(words[:-1])} or {words[-1]}")
        return self._prev.text.upper()

    def integer(self) -> int:
        """Take an unsigned whole number; no size in DDL has ten digits."""
        if len(self._curr.text) > 9 and self._curr.token_type == TokenType.NUMBER:
            self.fail("expected a smaller number")
        return super().integer()

    def table_name(self) -> tuple[str, ...]:
        """Take a dotted name."""
        parts = [self.identifier("the table's name")]
        while self._match(TokenType.DOT):
            parts.append(self.identifier("the next part of the table's name"))
        return tuple(parts)

    def _elements_of(self, declaration: Declaration) -> None:
        while True:
            self.element(declaration)
            if self._match(TokenType.R_PAREN):
                return
            self.expect(TokenType.COMMA, "expected ',' or ')' in the column list")

    def element(self, declaration: Declaration) -> None:
        """Take a column, a key or a watermark."""
        if self.words("WATERMARK", "FOR"):
            declaration.watermarks.append(self._watermark())
        elif self.words("PRIMARY", "KEY"):
            declaration.keys.append(self._key())
        elif self.words("CONSTRAINT"):
            constraint = self.identifier("the constraint's name")
            if not self.words("PRIMARY", "KEY"):
                self._refuse_unique()
                self.fail("expected PRIMARY KEY")
            declaration.keys.append(self._key(constraint))
        elif self._match_text_seq("UNIQUE", advance=False) and self._next.token_type == TokenType.L_PAREN:
            self._refuse_unique()
        else:
            self._column(declaration)

    def _watermark(self) -> WatermarkDeclaration:
        column = self.identifier("the watermark's column")
        if self._match(TokenType.DOT):
            raise UnsupportedSqlError(
                f"WATERMARK FOR {column}.{self.identifier('a field')}: a field of a ROW cannot carry the watermark. "
                "Declare a computed column of it and put the watermark there."
            )
        if not self.words("AS"):
            self.fail("expected AS and the watermark's expression")
        start = self._curr
        expression = self.value()
        return WatermarkDeclaration(column, expression, self._find_sql(start, self._prev))

    def _key(self, name: str | None = None) -> KeyDeclaration:
        self.expect(TokenType.L_PAREN, "expected '(' and the columns of the primary key")
        columns = [self.identifier("a column of the primary key")]
        while self._match(TokenType.COMMA):
            columns.append(self.identifier("a column of the primary key"))
        self.expect(TokenType.R_PAREN, "expected ',' or ')' in the primary key")
        return KeyDeclaration(tuple(columns), self._enforced(), name)

    def _enforced(self) -> bool:
        if self.words("NOT", "ENFORCED"):
            return False
        self.words("ENFORCED")
        return True

    def _refuse_unique(self) -> None:
        if self.words("UNIQUE"):
            raise UnsupportedSqlError("UNIQUE constraint is not supported. Only PRIMARY KEY ... NOT ENFORCED is.")

    def _column(self, declaration: Declaration) -> None:
        name = self.identifier("a column")
        if self._has_query and self._curr.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            declaration.identifiers.append(name)
            return
        if self.words("AS"):
            start = self._curr
            expression = self.value()
            text = self._find_sql(start, self._prev)
            declaration.columns.append(ColumnDeclaration(name, text, expression=expression, comment=self._comment()))
            return
        type = self.data_type(f"column '{shorten_name(name)}'")
        metadata, virtual = None, False
        if self.words("METADATA"):
            metadata = self.string("the metadata key") if self.words("FROM") else name
            virtual = self.words("VIRTUAL")
        else:
            self._column_key(declaration, name)
        comment = self._comment()
        declaration.columns.append(
            ColumnDeclaration(name, type.text, type, metadata=metadata, virtual=virtual, comment=comment)
        )

    def _column_key(self, declaration: Declaration, name: str) -> None:
        constraint = self.identifier("the constraint's name") if self.words("CONSTRAINT") else None
        if self.words("PRIMARY", "KEY"):
            declaration.keys.append(KeyDeclaration((name,), self._enforced(), constraint))
            return
        self._refuse_unique()
        if constraint is not None:
            self.fail("expected PRIMARY KEY")

    def _comment(self) -> str | None:
        return self.string("the column's comment") if self.words("COMMENT") else None

    def options(self, clause: str) -> list[tuple[str, str]]:
        """The pairs of a clause in their order. Messages name keys, never values."""
        self.expect(TokenType.L_PAREN, f"expected '(' after {clause}")
        options: list[tuple[str, str]] = []
        after = ""
        while True:
            key = self.string(f"an option's key{after}")
            self.expect(TokenType.EQ, f"expected '=' after an option's key{after}")
            options.append((key, self.string("an option's value")))
            after = f" after the option '{shorten_name(key)}'"
            if self._match(TokenType.R_PAREN):
                return options
            self.expect(TokenType.COMMA, f"expected ',' or ')'{after}")
