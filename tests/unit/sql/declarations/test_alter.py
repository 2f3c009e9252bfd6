"""Test how ALTER TABLE changes the declaration of a table, and Flink's errors."""

from __future__ import annotations

import pytest

from kafka_sql.errors import KafkaSqlError, MissingOptionError, SchemaError, StatementError, UnsupportedSqlError
from kafka_sql.sql.declarations.alter import apply_alteration
from kafka_sql.sql.declarations.create import parse_create, to_declaration, to_table
from kafka_sql.sql.declarations.render import render_create_table
from kafka_sql.sql.grammar.parser import parse_alteration
from kafka_sql.table.table import Table

BASE = """CREATE TABLE t (
  id BIGINT NOT NULL COMMENT 'the id', name STRING, ts TIMESTAMP(3), twice AS id * 2,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED
) WITH ('connector' = 'kafka', 'topic' = 'a')"""
WITHOUT_KEY = BASE.replace(", CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED", "")
WITHOUT_WATERMARK = BASE.replace(",\n  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND", "")


def alter(change: str, base: str = BASE) -> Table:
    alteration = parse_alteration(f"ALTER TABLE t {change}")
    return to_table(apply_alteration(to_declaration(parse_create(base)), alteration))


def columns(table: Table) -> list[str]:
    return [column.name for column in table.columns]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("ADD x INT", ["id", "name", "ts", "twice", "x"]),
        ("ADD x INT FIRST", ["x", "id", "name", "ts", "twice"]),
        ("ADD x INT AFTER id", ["id", "x", "name", "ts", "twice"]),
        ("ADD (x INT, y INT AFTER x, z INT FIRST)", ["z", "id", "name", "ts", "twice", "x", "y"]),
        ("MODIFY name INT", ["id", "name", "ts", "twice"]),
        ("MODIFY name INT FIRST", ["name", "id", "ts", "twice"]),
        ("MODIFY id INT NOT NULL AFTER twice", ["name", "ts", "twice", "id"]),
        ("DROP name", ["id", "ts", "twice"]),
        ("DROP (name, twice)", ["id", "ts"]),
        ("RENAME name TO title", ["id", "title", "ts", "twice"]),
    ],
)
def test_columns_after_the_change(change: str, expected: list[str]) -> None:
    assert columns(alter(change)) == expected


def test_a_modified_column_keeps_its_comment_unless_it_has_another() -> None:
    assert alter("MODIFY id INT NOT NULL").columns[0].comment == "the id"
    assert alter("MODIFY id INT NOT NULL").columns[0].declared == "INT"
    assert alter("MODIFY id INT NOT NULL COMMENT 'new'").columns[0].comment == "new"


def test_a_renamed_key_column_stays_the_key() -> None:
    base = BASE.replace("twice AS id * 2", "twice AS 2")
    assert alter("RENAME id TO number", base).primary_key == ("number",)


def test_the_primary_key() -> None:
    assert alter("DROP PRIMARY KEY").primary_key == ()
    assert alter("DROP CONSTRAINT pk").primary_key == ()
    unnamed = BASE.replace("CONSTRAINT pk ", "")
    assert alter("DROP CONSTRAINT PK_id", unnamed).primary_key == ()
    assert alter("ADD PRIMARY KEY (id) NOT ENFORCED", WITHOUT_KEY).primary_key == ("id",)
    assert alter("MODIFY (name STRING NOT NULL, PRIMARY KEY (name) NOT ENFORCED)").primary_key == ("name",)
    assert alter("ADD x INT").primary_key == ("id",)


def test_the_watermark() -> None:
    assert alter("DROP WATERMARK").watermark is None
    added = alter("ADD WATERMARK FOR ts AS ts - INTERVAL '1' SECOND", WITHOUT_WATERMARK).watermark
    assert added is not None
    assert added.delay == "'1' SECOND"
    modified = alter("MODIFY WATERMARK FOR ts AS ts").watermark
    assert modified is not None
    assert modified.declared == "ts"
    assert "WATERMARK FOR `ts` AS ts - INTERVAL '5' SECOND" in render_create_table(alter("ADD x INT"))


def test_options() -> None:
    assert alter("SET ('topic' = 'b', 'format' = 'json')").options == {
        "connector": "kafka",
        "topic": "b",
        "format": "json",
    }
    assert alter("RESET ('topic', 'none')").options == {"connector": "kafka"}


SECURED = f"{BASE[:-1]}, 'properties.security.protocol' = 'SASL_SSL', 'properties.sasl.password' = 'hunter2')"


def test_secrets_are_not_kept_with_other_brokers_or_less_protection() -> None:
    with pytest.raises(MissingOptionError, match=r"'properties\.bootstrap\.servers' .* set them, too: 'properties\."):
        alter("SET ('properties.bootstrap.servers' = 'other:9092')", SECURED)
    with pytest.raises(MissingOptionError, match=r"'properties\.security\.protocol' .* reset them, too: 'properties\."):
        alter("RESET ('properties.security.protocol')", SECURED)
    changed = alter("SET ('properties.bootstrap.servers' = 'other:9092', 'properties.sasl.password' = 'b')", SECURED)
    assert changed.options["properties.sasl.password"] == "b"
    reset = alter("RESET ('properties.security.protocol', 'properties.sasl.password')", SECURED)
    assert reset.options == {"connector": "kafka", "topic": "a"}


@pytest.mark.parametrize(
    ("change", "base", "error", "message"),
    [
        ("ADD name INT", BASE, SchemaError, "Try to add a column `name` which already exists in the table"),
        ("ADD (x INT, x INT)", BASE, SchemaError, "Encounter duplicate column `x`"),
        ("ADD x INT AFTER y", BASE, SchemaError, "Referenced column `y` by 'AFTER' does not exist in the table"),
        ("MODIFY nam INT", BASE, SchemaError, "column `nam` which does not exist in the table. Did you mean 'name'?"),
        ("MODIFY name INT AFTER name", BASE, SchemaError, "column `name` cannot be placed AFTER itself"),
        ("DROP nam", BASE, SchemaError, "column `nam` does not exist in the base table. Did you mean 'name'?"),
        ("DROP (name, name)", BASE, SchemaError, "Duplicate column `name`"),
        ("DROP id", BASE, SchemaError, "The column `id` is referenced by computed column `twice`"),
        ("DROP (id, twice)", BASE, SchemaError, "The column `id` is used as the primary key. DROP PRIMARY KEY first"),
        ("DROP ts", BASE, SchemaError, "The column `ts` is referenced by watermark expression. DROP WATERMARK first"),
        ("RENAME id TO x", BASE, SchemaError, "The column `id` is referenced by computed column `twice`"),
        ("RENAME name TO ts", BASE, SchemaError, "The column `ts` already existed in table schema"),
        ("DROP PRIMARY KEY", WITHOUT_KEY, SchemaError, "The base table does not define any primary key"),
        ("DROP CONSTRAINT other", BASE, SchemaError, "named 'other'. Available constraint name: ['pk']"),
        ("DROP WATERMARK", WITHOUT_WATERMARK, SchemaError, "The base table does not define any watermark strategy"),
        ("ADD PRIMARY KEY (name) NOT ENFORCED", BASE, SchemaError, "already defined the primary key constraint [`id`]"),
        ("MODIFY PRIMARY KEY (name) NOT ENFORCED", WITHOUT_KEY, SchemaError, "does not define any primary key constr"),
        ("ADD WATERMARK FOR ts AS ts", BASE, SchemaError, "defined the watermark strategy `ts` AS ts - INTERVAL '5' S"),
        (
            "MODIFY WATERMARK FOR ts AS ts",
            WITHOUT_WATERMARK,
            SchemaError,
            "does not define any watermark. You might want to add",
        ),
        ("SET ()", BASE, StatementError, "SET does not support empty options"),
        ("SET ('a' = 'b', 'a' = 'c')", BASE, StatementError, "option 'a' is set more than once"),
        ("RESET ()", BASE, UnsupportedSqlError, "RESET does not support empty key"),
        ("RESET ('connector')", BASE, UnsupportedSqlError, "RESET does not support changing 'connector'"),
    ],
)
def test_changes_that_are_rejected(change: str, base: str, error: type[KafkaSqlError], message: str) -> None:
    with pytest.raises(error) as e:
        alter(change, base)
    assert message in str(e.value)
