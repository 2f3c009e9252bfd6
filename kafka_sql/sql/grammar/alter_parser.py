"""Parse ALTER TABLE, which has the columns, constraints and options of CREATE TABLE (``table_parser``)."""

from __future__ import annotations

from functools import partial
from typing import Final

from sqlglot.tokens import TokenType

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.grammar import statement_nodes as nodes
from kafka_sql.sql.grammar.table_parser import TableParser

# words that can follow a type; after ``ADD COLUMN name``, they show that the name is the type of a column named COLUMN
_AFTER_TYPE: Final = frozenset(
    """NOT NULL COMMENT METADATA FIRST AFTER PRIMARY UNIQUE CONSTRAINT ARRAY MULTISET WITH WITHOUT PRECISION
    VARYING""".split()  # noqa: SIM905
)


class StatementParser(TableParser):
    """Grammar of all statements: CREATE TABLE (``TableParser``), and here ALTER TABLE."""

    def read_alter_table(self) -> nodes.Alteration:
        self.expect_words("ALTER", "TABLE", message="expected ALTER TABLE")
        if_exists = self.take_words("IF", "EXISTS")
        alteration = nodes.Alteration(self.read_table_name(), if_exists, self._read_change())
        self.expect_end()
        return alteration

    def _read_change(self) -> nodes.Change:
        if self.take_words("RENAME"):
            return self._read_rename()
        if self.take_words("SET"):
            return nodes.SetOptions(self._read_set_options())
        if self.take_words("RESET"):
            return nodes.ResetOptions(self._read_reset_keys())
        if clause := self.take_one_of(("ADD", "MODIFY")):
            return self._read_add_or_modify(clause)
        self.expect_words("DROP", message="expected ADD, MODIFY, DROP, RENAME, SET or RESET")
        return self._read_drop()

    def _read_rename(self) -> nodes.RenameTable | nodes.RenameColumn:
        if self.take_words("TO"):
            return nodes.RenameTable(self.read_table_name())
        if not (self._next.token_type == TokenType.VAR and self._next.text.upper() == "TO"):
            self._take_column_keyword()
        old = self.take_identifier("TO and the new table name, or a column name")
        self.expect_words("TO", message="expected TO and the new column name")
        return nodes.RenameColumn(old, self.take_identifier("the new column name"))

    def _read_set_options(self) -> tuple[tuple[str, str], ...]:
        if self._next.token_type == TokenType.R_PAREN and self._match(TokenType.L_PAREN):
            self._advance()
            return ()
        return tuple(self.read_options("SET"))

    def _read_reset_keys(self) -> tuple[str, ...]:
        self.expect(TokenType.L_PAREN, "expected '(' after RESET")
        if self._match(TokenType.R_PAREN):
            return ()
        read = partial(self.take_string, "an option key")
        return tuple(self.read_list(read, TokenType.R_PAREN, "expected ',' or ')' after the option key"))

    def _read_add_or_modify(self, clause: str) -> nodes.AddOrModify:
        self._reject_unsupported_clauses(clause)
        is_spark = clause == "ADD" and self._take_add_column_keyword()
        declaration = nodes.Declaration(())
        positions: dict[int, str | None] = {}

        def read() -> None:
            count = len(declaration.columns)
            self.read_element(declaration)
            if len(declaration.columns) > count:
                positions[count] = self._read_position()

        if self._match(TokenType.L_PAREN):
            self.read_list(read, TokenType.R_PAREN, f"expected ',' or ')' in the list of {clause}")
        else:
            read()
            while is_spark and self._match(TokenType.COMMA):
                read()
        columns = tuple((column, positions[i]) for i, column in enumerate(declaration.columns))
        return nodes.AddOrModify(clause == "MODIFY", columns, tuple(declaration.keys), tuple(declaration.watermarks))

    def _read_position(self) -> str | None:
        if self.take_words("FIRST"):
            return nodes.FIRST
        if not self.take_words("AFTER"):
            return None
        return self.take_identifier("a column name after AFTER") or self.fail("expected a column name after AFTER")

    def _read_drop(self) -> nodes.DropColumns | nodes.DropKey | nodes.DropWatermark:
        self._reject_unsupported_clauses("DROP")
        if self.take_words("PRIMARY", "KEY"):
            return nodes.DropKey()
        if self.take_words("CONSTRAINT"):
            return nodes.DropKey(self.take_identifier("a constraint name"))
        if self.take_words("WATERMARK"):
            return nodes.DropWatermark()
        is_spark, read = self._take_column_keyword(), partial(self.take_identifier, "a column name")
        if self._match(TokenType.L_PAREN):
            return nodes.DropColumns(
                tuple(self.read_list(read, TokenType.R_PAREN, "expected ',' or ')' in the list of DROP"))
            )
        columns = [read()]
        while is_spark and self._match(TokenType.COMMA):
            columns.append(read())
        return nodes.DropColumns(tuple(columns))

    def _reject_unsupported_clauses(self, clause: str) -> None:
        is_list_next = self._next.token_type == TokenType.L_PAREN  # without a list, PARTITION is the name of a column
        for keyword in ("PARTITION", "IF", "DISTRIBUTION"):
            if self.is_word(keyword) and (is_list_next or keyword != "PARTITION"):
                target = "DISTRIBUTION" if keyword == "DISTRIBUTION" else "PARTITION"  # IF EXISTS precedes PARTITION
                raise UnsupportedSqlError(
                    f"ALTER TABLE ... {clause} {target} is not supported: Kafka partitions the topic, not the table. "
                    "Remove the clause."
                )

    def _take_column_keyword(self) -> bool:
        """Take Spark's COLUMN or COLUMNS unless it is the name of a column; return whether it was taken."""
        word, following = self._curr, self._next
        if word.token_type != TokenType.VAR or word.text.upper() not in ("COLUMN", "COLUMNS"):
            return False
        if following.token_type not in (TokenType.L_PAREN, TokenType.VAR, TokenType.IDENTIFIER):
            return False
        self._advance()
        return True

    def _take_add_column_keyword(self) -> bool:
        """Take Spark's COLUMN or COLUMNS after ADD, and return whether it was taken.

        In ``ADD column INT``, it is the name of the column.
        """
        tokens = self._tokens[self._index + 1 : self._index + 4]
        types, words = [t.token_type for t in tokens], [t.text.upper() for t in tokens]
        is_list = types[:1] == [TokenType.L_PAREN]
        has_type = types[1:2] == [TokenType.VAR] and words[1] not in _AFTER_TYPE
        is_array = words[1:2] == ["ARRAY"] and types[2:] == [TokenType.LT]
        is_computed = words[1:2] == ["AS"]
        is_keyword = (is_list or has_type or is_array or is_computed) and words[:1] != ["AS"]
        return is_keyword and self._take_column_keyword()
