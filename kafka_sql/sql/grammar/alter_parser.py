"""The grammar of ALTER TABLE, into what it changes."""

from __future__ import annotations

from sqlglot.tokens import Token, TokenType

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.grammar.declaration import (
    AddOrModify,
    Alteration,
    Change,
    ColumnDeclaration,
    ColumnPosition,
    Declaration,
    DropColumns,
    DropKey,
    DropWatermark,
    RenameColumn,
    RenameTable,
    ResetOptions,
    SetOptions,
)
from kafka_sql.sql.grammar.table_parser import TableParser


class AlterParser(TableParser):
    """CREATE TABLE and ALTER TABLE."""

    def alter_table(self, tokens: list[Token], sql: str) -> Alteration:
        """What one ALTER TABLE asks for.

        Raises:
            FlinkParseError: the statement does not parse.
            UnsupportedSqlError: partitions or a distribution, which a topic does not have.
        """
        self.start(tokens, sql)
        if not self.words("ALTER", "TABLE"):
            self.fail("expected ALTER TABLE")
        if_exists = self.words("IF", "EXISTS")
        alteration = Alteration(self.table_name(), if_exists, self._change())
        self.end()
        return alteration

    def _change(self) -> Change:
        if self.words("RENAME"):
            return self._rename()
        if self.words("SET"):
            return SetOptions(self._pairs())
        if self.words("RESET"):
            return ResetOptions(self._keys())
        if self.words("ADD"):
            return self._components("ADD")
        if self.words("MODIFY"):
            return self._components("MODIFY")
        if not self.words("DROP"):
            self.fail("expected ADD, MODIFY, DROP, RENAME, SET or RESET")
        return self._drop()

    def _rename(self) -> RenameTable | RenameColumn:
        if self.words("TO"):
            return RenameTable(self.table_name())
        old = self.identifier("TO and the table's new name, or a column")
        if not self.words("TO"):
            self.fail("expected TO and the column's new name")
        return RenameColumn(old, self.identifier("the column's new name"))

    def _pairs(self) -> tuple[tuple[str, str], ...]:
        if self._next.token_type == TokenType.R_PAREN and self._match(TokenType.L_PAREN):
            self._advance()
            return ()
        return tuple(self.options("SET"))

    def _keys(self) -> tuple[str, ...]:
        self.expect(TokenType.L_PAREN, "expected '(' after RESET")
        if self._match(TokenType.R_PAREN):
            return ()
        keys = [self.string("an option's key")]
        while self._match(TokenType.COMMA):
            keys.append(self.string("an option's key"))
        self.expect(TokenType.R_PAREN, "expected ',' or ')' after an option's key")
        return tuple(keys)

    def _components(self, clause: str) -> AddOrModify:
        self._refuse_parts(clause)
        found = Declaration(())
        columns: list[tuple[ColumnDeclaration, ColumnPosition | None]] = []
        several = self._match(TokenType.L_PAREN)
        while True:
            self.element(found)
            columns += [(column, self._position()) for column in found.columns]
            found.columns.clear()
            if not several:
                break
            if self._match(TokenType.R_PAREN):
                break
            self.expect(TokenType.COMMA, f"expected ',' or ')' in the list of {clause}")
        return AddOrModify(clause == "MODIFY", tuple(columns), tuple(found.keys), tuple(found.watermarks))

    def _position(self) -> ColumnPosition | None:
        if self.words("FIRST"):
            return ColumnPosition()
        return ColumnPosition(self.identifier("the column before it")) if self.words("AFTER") else None

    def _drop(self) -> DropColumns | DropKey | DropWatermark:
        self._refuse_parts("DROP")
        if self.words("PRIMARY", "KEY"):
            return DropKey()
        if self.words("CONSTRAINT"):
            return DropKey(self.identifier("the constraint's name"))
        if self.words("WATERMARK"):
            return DropWatermark()
        if not self._match(TokenType.L_PAREN):
            return DropColumns((self.identifier("a column"),))
        columns = [self.identifier("a column")]
        while self._match(TokenType.COMMA):
            columns.append(self.identifier("a column"))
        self.expect(TokenType.R_PAREN, "expected ',' or ')' in the list of DROP")
        return DropColumns(tuple(columns))

    def _refuse_parts(self, clause: str) -> None:
        """Partitions and distributions; and Spark's ``ADD COLUMNS (...)``, which would be a column of that name."""
        bracket = self._next.token_type == TokenType.L_PAREN
        for word in ("PARTITION", "IF", "DISTRIBUTION"):
            named = bracket if word == "PARTITION" else True
            if named and self._match_text_seq(word, advance=False):
                what = "DISTRIBUTION" if word == "DISTRIBUTION" else "PARTITION"
                raise UnsupportedSqlError(
                    f"ALTER TABLE ... {clause} {what}: the partitions of a topic are Kafka's own, and a table over it "
                    "has none. Remove the clause."
                )
        for word in ("COLUMN", "COLUMNS"):
            follows = bracket or self._next.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
            if follows and self._match_text_seq(word, advance=False) and (bracket or clause == "DROP"):
                self.fail(f"expected the column itself: Flink's form is {clause} name or {clause} (name, ...)")
