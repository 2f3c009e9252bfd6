"""Parse CREATE TABLE into a declaration, without validating it."""

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

# Flink's clauses around the column list and WITH that are not supported.
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
    """Grammar of types, expressions and CREATE TABLE."""

    def read_create_table(self, tokens: list[Token], sql: str, query: str | None) -> Declaration:
        """Read one CREATE TABLE statement.

        Args:
            tokens: the tokens of the statement up to AS.
            query: the query after AS.

        Raises:
            FlinkParseError: the statement does not parse.
            UnsupportedSqlError: an unsupported clause inside the column list.
        """
        self.load_tokens(tokens, sql)
        self._has_query = query is not None
        declaration = self._read_create()
        if declaration.unsupported is None:
            self.expect_end()
        declaration.query = query
        return declaration

    def load_tokens(self, tokens: list[Token], sql: str) -> None:
        """Start to parse a statement. Trailing semicolons are ignored."""
        self.reset()
        self.sql = sql
        self._has_query = False
        while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
            tokens = tokens[:-1]
        self._chunks = [tokens]
        self._advance_chunk()

    def expect_end(self) -> None:
        """Fail if any token is left."""
        if self._curr:
            self.fail("expected the end of the statement")

    def _read_create(self) -> Declaration:
        has_create = self.take_words("CREATE")
        replace = self.take_words("OR", "REPLACE") if has_create else self.take_words("REPLACE")
        if not (has_create or replace):
            self.fail("expected CREATE TABLE")
        temporary = self.take_words("TEMPORARY")
        if not self.take_words("TABLE"):
            self.fail("expected TABLE")
        if_not_exists = not replace and self.take_words("IF", "NOT", "EXISTS")
        declaration = Declaration(self.read_table_name(), temporary, if_not_exists, replace)
        if self._match(TokenType.L_PAREN):
            self._read_elements(declaration)
        if self.take_words("COMMENT"):
            declaration.comment = self.take_string("the table comment")
        if self._read_unsupported_clause(declaration) or self._read_like(declaration):
            return declaration
        if self.take_words("WITH"):
            declaration.options = self.read_options("WITH")
        if declaration.like is None:
            self._read_unsupported_clause(declaration) or self._read_like(declaration)
        return declaration

    def _read_unsupported_clause(self, declaration: Declaration) -> bool:
        """Read a clause that is not supported, and the options after it; return whether there is one."""
        for clause in _UNSUPPORTED:
            if self.take_words(*clause):
                declaration.unsupported = " ".join(clause)
                while self._curr and not (self._is_word("WITH") and self._next.token_type == TokenType.L_PAREN):
                    self._advance()
                if self.take_words("WITH"):
                    declaration.options = self.read_options("WITH")
                return True
        return False

    def _is_word(self, word: str) -> bool:
        return bool(self._match_text_seq(word, advance=False))

    def _read_like(self, declaration: Declaration) -> bool:
        """Read LIKE; return whether it ends the statement. (WITH may follow, although Flink has it before LIKE.)"""
        if not self.take_words("LIKE"):
            return False
        base = self.read_table_name()
        options = []
        if self._match(TokenType.L_PAREN):
            while not self._match(TokenType.R_PAREN):
                strategy = self._take_one_of(_STRATEGIES)
                options.append((strategy, self._take_one_of(_FEATURES)))
        declaration.like = LikeDeclaration(base, tuple(options))
        return not self._match_text_seq("WITH", advance=False)

    def _take_one_of(self, words: tuple[str, ...]) -> str:
        if not any(self.take_words(word) for word in words):
            self.fail(f"expected {', '.join(words[:-1])} or {words[-1]}")
        return self._prev.text.upper()

    def read_table_name(self) -> tuple[str, ...]:
        """Read a dotted table name."""
        parts = [self.take_identifier("a table name")]
        while self._match(TokenType.DOT):
            parts.append(self.take_identifier("the next part of the table name"))
        return tuple(parts)

    def _read_elements(self, declaration: Declaration) -> None:
        while True:
            self.read_element(declaration)
            if self._match(TokenType.R_PAREN):
                return
            self.expect(TokenType.COMMA, "expected ',' or ')' in the column list")

    def read_element(self, declaration: Declaration) -> None:
        """Read a column, a primary key or a watermark."""
        if self.take_words("WATERMARK", "FOR"):
            declaration.watermarks.append(self._read_watermark())
        elif self.take_words("PRIMARY", "KEY"):
            declaration.keys.append(self._read_key())
        elif self.take_words("CONSTRAINT"):
            constraint = self.take_identifier("a constraint name")
            if not self.take_words("PRIMARY", "KEY"):
                self._reject_unique()
                self.fail("expected PRIMARY KEY")
            declaration.keys.append(self._read_key(constraint))
        elif self._match_text_seq("UNIQUE", advance=False) and self._next.token_type == TokenType.L_PAREN:
            self._reject_unique()
        else:
            self._read_column(declaration)

    def _read_watermark(self) -> WatermarkDeclaration:
        column = self.take_identifier("the watermark column")
        if self._match(TokenType.DOT):
            raise UnsupportedSqlError(
                f"WATERMARK FOR {column}.{self.take_identifier('a field')}: a nested field cannot have a watermark. "
                "Define a computed column for the field and declare the watermark on that column."
            )
        if not self.take_words("AS"):
            self.fail("expected AS and the watermark expression")
        start = self._curr
        expression = self.read_expression()
        return WatermarkDeclaration(column, expression, self._find_sql(start, self._prev))

    def _read_key(self, name: str | None = None) -> KeyDeclaration:
        self.expect(TokenType.L_PAREN, "expected '(' and the columns of the primary key")
        columns = [self.take_identifier("a column of the primary key")]
        while self._match(TokenType.COMMA):
            columns.append(self.take_identifier("a column of the primary key"))
        self.expect(TokenType.R_PAREN, "expected ',' or ')' in the primary key")
        return KeyDeclaration(tuple(columns), self._read_enforced(), name)

    def _read_enforced(self) -> bool:
        if self.take_words("NOT", "ENFORCED"):
            return False
        self.take_words("ENFORCED")
        return True

    def _reject_unique(self) -> None:
        if self.take_words("UNIQUE"):
            raise UnsupportedSqlError("UNIQUE constraint is not supported. Use PRIMARY KEY (...) NOT ENFORCED.")

    def _read_column(self, declaration: Declaration) -> None:
        name = self.take_identifier("a column name")
        if self._has_query and self._curr.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            declaration.identifiers.append(name)
            return
        if self.take_words("AS"):
            start = self._curr
            expression = self.read_expression()
            text = self._find_sql(start, self._prev)
            declaration.columns.append(
                ColumnDeclaration(name, text, expression=expression, comment=self._read_comment())
            )
            return
        type = self.read_type(f"column '{shorten_name(name)}'")
        metadata, virtual = None, False
        if self.take_words("METADATA"):
            metadata = self.take_string("the metadata key") if self.take_words("FROM") else name
            virtual = self.take_words("VIRTUAL")
        else:
            self._read_column_key(declaration, name)
        comment = self._read_comment()
        declaration.columns.append(
            ColumnDeclaration(name, type.text, type, metadata=metadata, virtual=virtual, comment=comment)
        )

    def _read_column_key(self, declaration: Declaration, name: str) -> None:
        constraint = self.take_identifier("a constraint name") if self.take_words("CONSTRAINT") else None
        if self.take_words("PRIMARY", "KEY"):
            declaration.keys.append(KeyDeclaration((name,), self._read_enforced(), constraint))
            return
        self._reject_unique()
        if constraint is not None:
            self.fail("expected PRIMARY KEY")

    def _read_comment(self) -> str | None:
        return self.take_string("the column comment") if self.take_words("COMMENT") else None

    def read_options(self, clause: str) -> list[tuple[str, str]]:
        """Read the key-value pairs of a clause, in order. Error messages contain keys, never values."""
        self.expect(TokenType.L_PAREN, f"expected '(' after {clause}")
        options: list[tuple[str, str]] = []
        place = ""
        while True:
            key = self.expect(TokenType.STRING, f"expected an option key in single quotes{place}").text
            self.expect(TokenType.EQ, f"expected '=' after the option key{place}")
            options.append((key, self.take_string("an option value")))
            place = f" after option '{shorten_name(key)}'"
            if self._match(TokenType.R_PAREN):
                return options
            self.expect(TokenType.COMMA, f"expected ',' or ')'{place}")
