"""The grammar of CREATE TABLE, into a declaration: what was typed, not yet whether it makes sense."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.expression_parser import ExpressionParser
from kafka_sql.sql.type_parser import shown
from kafka_sql.sql.types import FlinkType

# Clauses that Flink has around the column list and WITH, and that are not carried out here.
_UNSUPPORTED: Final = (("DISTRIBUTED",), ("PARTITIONED", "BY"), ("LIKE",), ("AS",), ("USING", "CONNECTION"))


@dataclass(frozen=True)
class ColumnDeclaration:
    """One column: physical or metadata with a type, or computed with an expression."""

    name: str
    text: str  # the type or the expression as typed
    type: FlinkType | None = None
    expression: exp.Expr | None = None
    metadata: str | None = None
    virtual: bool = False
    comment: str | None = None


@dataclass(frozen=True)
class KeyDeclaration:
    """One PRIMARY KEY, of a column or of the table."""

    columns: tuple[str, ...]
    enforced: bool  # NOT ENFORCED is absent


@dataclass(frozen=True)
class WatermarkDeclaration:
    """``WATERMARK FOR column AS expression``."""

    column: str
    expression: exp.Expr
    text: str


@dataclass
class Declaration:
    """One CREATE TABLE as it was typed, in its order."""

    name: tuple[str, ...]
    temporary: bool
    if_not_exists: bool
    columns: list[ColumnDeclaration] = field(default_factory=list)
    keys: list[KeyDeclaration] = field(default_factory=list)
    watermarks: list[WatermarkDeclaration] = field(default_factory=list)
    options: list[tuple[str, str]] | None = field(default=None, repr=False)  # may hold secrets; None without WITH
    comment: str | None = None
    unsupported: str | None = None  # the clause at which reading stopped


class TableParser(ExpressionParser):
    """Types, expressions, and CREATE TABLE."""

    def create_table(self, tokens: list[Token], sql: str) -> Declaration:
        """The declaration of one statement.

        Raises:
            FlinkParseError: the statement does not parse.
            UnsupportedSqlError: a clause that stands inside the column list and is not carried out.
        """
        self.reset()
        self.sql = sql
        while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
            tokens = tokens[:-1]
        self._chunks = [tokens]
        self._advance_chunk()
        declaration = self._create()
        if self._curr and declaration.unsupported is None:
            self.fail("expected the end of the statement")
        return declaration

    def _create(self) -> Declaration:
        if not self.words("CREATE"):
            self.fail("expected CREATE TABLE")
        if self.words("OR", "REPLACE"):
            raise UnsupportedSqlError("CREATE OR REPLACE TABLE is not supported. Drop the table, then create it.")
        temporary = self.words("TEMPORARY")
        if not self.words("TABLE"):
            self.fail("expected TABLE")
        if_not_exists = self.words("IF", "NOT", "EXISTS")
        declaration = Declaration(self._table_name(), temporary, if_not_exists)
        if self._match(TokenType.L_PAREN):
            self._elements_of(declaration)
        if self.words("COMMENT"):
            declaration.comment = self.string("the table's comment")
        if self._stops(declaration):
            return declaration
        if self.words("WITH"):
            declaration.options = self._options()
        self._stops(declaration)
        return declaration

    def _stops(self, declaration: Declaration) -> bool:
        for clause in _UNSUPPORTED:
            if self.words(*clause):
                declaration.unsupported = " ".join(clause)
                return True
        return False

    def _table_name(self) -> tuple[str, ...]:
        parts = [self.identifier("the table's name")]
        while self._match(TokenType.DOT):
            parts.append(self.identifier("the next part of the table's name"))
        return tuple(parts)

    def _elements_of(self, declaration: Declaration) -> None:
        while True:
            self._element(declaration)
            if self._match(TokenType.R_PAREN):
                return
            self.expect(TokenType.COMMA, "expected ',' or ')' in the column list")

    def _element(self, declaration: Declaration) -> None:
        if self.words("WATERMARK", "FOR"):
            declaration.watermarks.append(self._watermark())
        elif self.words("PRIMARY", "KEY"):
            declaration.keys.append(self._key())
        elif self.words("CONSTRAINT"):
            self.identifier("the constraint's name")
            if not self.words("PRIMARY", "KEY"):
                self._refuse_unique()
                self.fail("expected PRIMARY KEY")
            declaration.keys.append(self._key())
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

    def _key(self) -> KeyDeclaration:
        self.expect(TokenType.L_PAREN, "expected '(' and the columns of the primary key")
        columns = [self.identifier("a column of the primary key")]
        while self._match(TokenType.COMMA):
            columns.append(self.identifier("a column of the primary key"))
        self.expect(TokenType.R_PAREN, "expected ',' or ')' in the primary key")
        return KeyDeclaration(tuple(columns), self._enforced())

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
        if self.words("AS"):
            start = self._curr
            expression = self.value()
            text = self._find_sql(start, self._prev)
            declaration.columns.append(ColumnDeclaration(name, text, expression=expression, comment=self._comment()))
            return
        type = self.data_type(f"column '{shown(name)}'")
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
        named = self.words("CONSTRAINT")
        if named:
            self.identifier("the constraint's name")
        if self.words("PRIMARY", "KEY"):
            declaration.keys.append(KeyDeclaration((name,), self._enforced()))
            return
        self._refuse_unique()
        if named:
            self.fail("expected PRIMARY KEY")

    def _comment(self) -> str | None:
        return self.string("the column's comment") if self.words("COMMENT") else None

    def _options(self) -> list[tuple[str, str]]:
        """The pairs of WITH in their order. Messages name keys, never values."""
        self.expect(TokenType.L_PAREN, "expected '(' after WITH")
        options: list[tuple[str, str]] = []
        after = ""
        while True:
            key = self.string(f"an option's key{after}")
            self.expect(TokenType.EQ, f"expected '=' after an option's key{after}")
            options.append((key, self.string("an option's value")))
            after = f" after the option '{shown(key)}'"
            if self._match(TokenType.R_PAREN):
                return options
            self.expect(TokenType.COMMA, f"expected ',' or ')'{after}")
