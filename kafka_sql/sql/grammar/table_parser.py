"""Parse CREATE TABLE into a declaration, without validating it."""

from __future__ import annotations

from functools import partial
from typing import Final

from sqlglot import exp
from sqlglot.tokens import TokenType

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.grammar import statement_nodes as nodes
from kafka_sql.sql.grammar.cursor import shorten_name
from kafka_sql.sql.grammar.expression_parser import ExpressionParser

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

    def read_create_table(self, query: str | None) -> nodes.Declaration:
        """Read one CREATE TABLE statement. The query after AS is not among the tokens.

        Raises:
            SqlSyntaxError: the statement does not parse.
            UnsupportedSqlError: an unsupported clause inside the column list.
        """
        has_create = self.take_words("CREATE")
        replace = self.take_words("OR", "REPLACE") if has_create else self.take_words("REPLACE")
        if not (has_create or replace):
            self.fail("expected CREATE TABLE")
        temporary = self.take_words("TEMPORARY")
        self.expect_words("TABLE", message="expected TABLE")
        if_not_exists = not replace and self.take_words("IF", "NOT", "EXISTS")
        declaration = nodes.Declaration(self.read_table_name(), temporary, if_not_exists, replace, query=query)
        if self._match(TokenType.L_PAREN):
            read = partial(self.read_element, declaration)
            self.read_list(read, TokenType.R_PAREN, "expected ',' or ')' in the column list")
        if self.take_words("COMMENT"):
            declaration.comment = self.take_string("the table comment")
        self._read_clauses(declaration)
        if declaration.unsupported is None:
            self.expect_end()
        return declaration

    def _read_clauses(self, declaration: nodes.Declaration) -> None:
        """Read the clauses after the column list. (WITH may follow LIKE, although Flink has it before.)"""
        if self._read_unsupported_clause(declaration):
            return
        self._read_like(declaration)
        if self.take_words("WITH"):
            declaration.options = self.read_options("WITH")
        if declaration.like is None and not self._read_unsupported_clause(declaration):
            self._read_like(declaration)

    def _read_unsupported_clause(self, declaration: nodes.Declaration) -> bool:
        """Read a clause that is not supported, and the options after it; return whether there is one."""
        for clause in _UNSUPPORTED:
            if self.take_words(*clause):
                declaration.unsupported = " ".join(clause)
                while self._curr and not (self.is_word("WITH") and self._next.token_type == TokenType.L_PAREN):
                    self._advance()
                if self.take_words("WITH"):
                    declaration.options = self.read_options("WITH")
                return True
        return False

    def _read_like(self, declaration: nodes.Declaration) -> None:
        if not self.take_words("LIKE"):
            return
        base, options = self.read_table_name(), []
        if self._match(TokenType.L_PAREN):
            while not self._match(TokenType.R_PAREN):
                options.append((self._expect_one_of(_STRATEGIES), self._expect_one_of(_FEATURES)))
        declaration.like = nodes.LikeDeclaration(base, tuple(options))

    def _expect_one_of(self, words: tuple[str, ...]) -> str:
        return self.take_one_of(words) or self.fail(f"expected {', '.join(words[:-1])} or {words[-1]}")

    def read_element(self, declaration: nodes.Declaration) -> None:
        """Read a column, a primary key or a watermark."""
        if self.take_words("WATERMARK", "FOR"):
            declaration.watermarks.append(self._read_watermark())
        elif self.take_words("PRIMARY", "KEY"):
            declaration.keys.append(self._read_key())
        elif self.take_words("CONSTRAINT"):
            constraint = self.take_identifier("a constraint name")
            self._reject_unique()
            self.expect_words("PRIMARY", "KEY", message="expected PRIMARY KEY")
            declaration.keys.append(self._read_key(constraint))
        elif self.is_word("UNIQUE") and self._next.token_type == TokenType.L_PAREN:
            self._reject_unique()
        else:
            self._read_column(declaration)

    def _read_watermark(self) -> nodes.WatermarkDeclaration:
        column = self.take_identifier("the watermark column")
        if self._match(TokenType.DOT):
            raise UnsupportedSqlError(
                f"WATERMARK FOR {column}.{self.take_identifier('a field')}: a nested field cannot have a watermark. "
                "Define a computed column for the field and declare the watermark on that column."
            )
        self.expect_words("AS", message="expected AS and the watermark expression")
        expression, text = self._read_expression_as_written()
        return nodes.WatermarkDeclaration(column, expression, text)

    def _read_expression_as_written(self) -> tuple[exp.Expr, str]:
        start = self._curr
        return self.read_expression(), self._find_sql(start, self._prev)

    def _read_key(self, name: str | None = None) -> nodes.KeyDeclaration:
        self.expect(TokenType.L_PAREN, "expected '(' and the columns of the primary key")
        read = partial(self.take_identifier, "a column of the primary key")
        columns = self.read_list(read, TokenType.R_PAREN, "expected ',' or ')' in the primary key")
        return nodes.KeyDeclaration(tuple(columns), self._read_enforced(), name)

    def _read_enforced(self) -> bool:
        if self.take_words("NOT", "ENFORCED"):
            return False
        self.take_words("ENFORCED")
        return True

    def _reject_unique(self) -> None:
        if self.take_words("UNIQUE"):
            raise UnsupportedSqlError("UNIQUE constraint is not supported. Use PRIMARY KEY (...) NOT ENFORCED.")

    def _read_column(self, declaration: nodes.Declaration) -> None:
        name = self.take_identifier("a column name")
        if declaration.query is not None and self._curr.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            declaration.identifiers.append(name)
            return
        if self.take_words("AS"):
            expression, text = self._read_expression_as_written()
            column = nodes.ColumnDeclaration(name, text, expression=expression, comment=self._read_comment())
            declaration.columns.append(column)
            return
        type = self.read_type(f"column '{shorten_name(name)}'")
        metadata, virtual = None, False
        if self.take_words("METADATA"):
            metadata = self.take_string("the metadata key") if self.take_words("FROM") else name
            virtual = self.take_words("VIRTUAL")
        else:
            self._read_column_key(declaration, name)
        column = nodes.ColumnDeclaration(name, type.text, type, None, metadata, virtual, self._read_comment())
        declaration.columns.append(column)

    def _read_column_key(self, declaration: nodes.Declaration, name: str) -> None:
        constraint = self.take_identifier("a constraint name") if self.take_words("CONSTRAINT") else None
        if self.take_words("PRIMARY", "KEY"):
            declaration.keys.append(nodes.KeyDeclaration((name,), self._read_enforced(), constraint))
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
