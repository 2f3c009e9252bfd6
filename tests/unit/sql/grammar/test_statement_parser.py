"""Test the grammar of ALTER TABLE."""

from __future__ import annotations

import pytest

from kafka_sql.errors import KafkaSqlError, SqlSyntaxError, UnsupportedSqlError
from kafka_sql.sql.grammar.parser import parse_alteration
from kafka_sql.sql.grammar.statement_nodes import (
    FIRST,
    AddOrModify,
    Change,
    DropColumns,
    DropKey,
    DropWatermark,
    RenameColumn,
    RenameTable,
    ResetOptions,
    SetOptions,
)


def change(text: str) -> Change:
    return parse_alteration(f"ALTER TABLE t {text}").change


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RENAME TO d.u", RenameTable(("d", "u"))),
        ("RENAME a TO `b c`", RenameColumn("a", "b c")),
        ("SET ('a' = 'b', 'c' = 'it''s')", SetOptions((("a", "b"), ("c", "it's")))),
        ("SET ()", SetOptions(())),
        ("RESET ('a', 'b')", ResetOptions(("a", "b"))),
        ("RESET ()", ResetOptions(())),
        ("DROP a", DropColumns(("a",))),
        ("DROP (a, `b c`)", DropColumns(("a", "b c"))),
        ("DROP PRIMARY KEY", DropKey()),
        ("DROP CONSTRAINT pk", DropKey("pk")),
        ("DROP WATERMARK", DropWatermark()),
        ("DROP `column`", DropColumns(("column",))),
        ("DROP column", DropColumns(("column",))),
        ("DROP COLUMN a", DropColumns(("a",))),
        ("DROP COLUMNS a, `b c`", DropColumns(("a", "b c"))),
        ("DROP COLUMNS (a, b)", DropColumns(("a", "b"))),
        ("RENAME COLUMN a TO b", RenameColumn("a", "b")),
        ("RENAME column TO b", RenameColumn("column", "b")),
    ],
)
def test_changes(text: str, expected: Change) -> None:
    assert change(text) == expected


def test_the_name_and_if_exists() -> None:
    alteration = parse_alteration("ALTER TABLE IF EXISTS c.d.t DROP a")
    assert (alteration.name, alteration.if_exists) == (("c", "d", "t"), True)
    assert parse_alteration("ALTER TABLE t DROP a;").if_exists is False


def test_added_columns_have_positions() -> None:
    added = change(
        "ADD (a INT FIRST, b AS a + 1 AFTER a, c INT METADATA VIRTUAL COMMENT 'x', PRIMARY KEY (a) NOT ENFORCED)"
    )
    assert isinstance(added, AddOrModify)
    assert not added.is_modify
    assert [(column.name, position) for column, position in added.columns] == [
        ("a", FIRST),
        ("b", "a"),
        ("c", None),
    ]
    assert [key.columns for key in added.keys] == [("a",)]
    assert added.columns[2][0].comment == "x"


def test_modify_of_one_element() -> None:
    modified = change("MODIFY WATERMARK FOR ts AS ts - INTERVAL '1' SECOND")
    assert isinstance(modified, AddOrModify)
    assert modified.is_modify
    assert [watermark.text for watermark in modified.watermarks] == ["ts - INTERVAL '1' SECOND"]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("CHANGE a", SqlSyntaxError, "expected ADD, MODIFY, DROP, RENAME, SET or RESET"),
        ("RENAME a b", SqlSyntaxError, "expected TO and the new column name"),
        ("RENAME a TO", SqlSyntaxError, "the new column name"),
        ("RESET 'a'", SqlSyntaxError, "expected '(' after RESET"),
        ("RESET ('a' 'b')", SqlSyntaxError, "expected ',' or ')' after the option key"),
        ("ADD (a INT b INT)", SqlSyntaxError, "expected ',' or ')' in the list of ADD"),
        ("ADD a INT AFTER", SqlSyntaxError, "a column name after AFTER"),
        ("ADD a INT AFTER ``", SqlSyntaxError, "a column name after AFTER"),
        ("DROP (a b)", SqlSyntaxError, "expected ',' or ')' in the list of DROP"),
        ("DROP a, b", SqlSyntaxError, "expected the end of the statement"),
        ("ADD a INT, b INT", SqlSyntaxError, "expected the end of the statement"),
        ("ADD PARTITION (a = 1)", UnsupportedSqlError, "ALTER TABLE ... ADD PARTITION is not supported"),
        ("ADD DISTRIBUTION BY HASH (a)", UnsupportedSqlError, "ALTER TABLE ... ADD DISTRIBUTION is not supported"),
        ("DROP IF EXISTS PARTITION (a = 1)", UnsupportedSqlError, "ALTER TABLE ... DROP PARTITION is not supported"),
    ],
)
def test_statements_that_are_rejected(text: str, error: type[KafkaSqlError], message: str) -> None:
    with pytest.raises(error) as e:
        change(text)
    assert message in str(e.value)


@pytest.mark.parametrize(
    ("spark", "flink"),
    [
        ("ADD COLUMN a INT", "ADD a INT"),
        ("ADD COLUMNS a INT, b LONG", "ADD (a INT, b LONG)"),
        ("ADD COLUMNS (a INT, b STRUCT<c: INT>)", "ADD (a INT, b STRUCT<c: INT>)"),
        ("ADD COLUMN a STRING COMMENT 'x' AFTER b", "ADD a STRING COMMENT 'x' AFTER b"),
        ("ADD COLUMN a ARRAY<INT>", "ADD a ARRAY<INT>"),
        ("ADD COLUMN `a b` DECIMAL(5, 2) FIRST", "ADD `a b` DECIMAL(5, 2) FIRST"),
        ("ADD COLUMN a AS b + 1", "ADD a AS b + 1"),
        ("ADD COLUMN column INT", "ADD column INT"),
    ],
)
def test_spark_column_keyword(spark: str, flink: str) -> None:
    assert change(spark) == change(flink)


@pytest.mark.parametrize(
    "text",
    [
        "column INT",
        "columns INT",
        "partition INT",
        "column TIMESTAMP(3)",
        "column INT NOT NULL",
        "column INT COMMENT 'x'",
        "column INT FIRST",
        "column INT AFTER a",
        "column INT ARRAY",
        "column DOUBLE PRECISION",
        "column TIMESTAMP WITH LOCAL TIME ZONE",
        "column INT METADATA VIRTUAL",
        "column AS a + 1",
        "`column` INT",
    ],
)
def test_a_column_may_be_named_column_or_partition(text: str) -> None:
    added = change(f"ADD {text}")
    assert isinstance(added, AddOrModify)
    assert added.columns[0][0].name == text.split()[0].strip("`")
