"""Test CREATE TABLE ... LIKE: what is inherited by each merging strategy, and Flink's errors."""

from __future__ import annotations

import pytest

from kafka_sql.errors import (
    ConflictingOptionsError,
    KafkaSqlError,
    MissingOptionError,
    SchemaError,
    UnsupportedSqlError,
)
from kafka_sql.sql.declarations.create import parse_create, to_declaration, to_table
from kafka_sql.sql.declarations.like import merge_like
from kafka_sql.sql.grammar.parser import parse_declaration
from kafka_sql.table.table import Table

BASE = """CREATE TABLE base (
  id BIGINT NOT NULL, ts TIMESTAMP(3), p INT METADATA FROM 'partition' VIRTUAL, twice AS id * 2,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (id) NOT ENFORCED
) COMMENT 'base' WITH ('connector' = 'kafka', 'topic' = 'a', 'properties.sasl.password' = 'hunter2')"""


def like(declared: str = "", options: str = "", strategies: str = "", base: str = BASE) -> Table:
    columns = f" ({declared})" if declared else ""
    text = f"CREATE TABLE t{columns}{options and f' WITH ({options})'} LIKE base{strategies and f' ({strategies})'}"
    return to_table(merge_like(parse_declaration(text), to_declaration(parse_create(base))))


def names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def test_everything_is_inherited_except_name_and_comment() -> None:
    table, base = like(), parse_create(BASE)
    assert (table.name, table.comment) == (("t",), None)
    assert (table.columns, table.primary_key, table.watermark) == (base.columns, base.primary_key, base.watermark)
    assert table.options == base.options


def test_declared_columns_follow_the_inherited_ones() -> None:
    assert names(like("x INT, y AS 1")) == ["id", "ts", "p", "twice", "x", "y"]


@pytest.mark.parametrize(
    ("strategies", "expected"),
    [
        ("EXCLUDING GENERATED", ["id", "ts", "p"]),
        ("EXCLUDING METADATA", ["id", "ts", "twice"]),
        ("EXCLUDING ALL INCLUDING METADATA INCLUDING OPTIONS", ["id", "ts", "p"]),
        ("EXCLUDING ALL INCLUDING OPTIONS", ["id", "ts"]),
    ],
)
def test_excluded_columns(strategies: str, expected: list[str]) -> None:
    assert names(like(strategies=strategies)) == expected


def test_excluded_key_watermark_and_options() -> None:
    assert like(strategies="EXCLUDING CONSTRAINTS").primary_key == ()
    assert like("PRIMARY KEY (ts) NOT ENFORCED", strategies="EXCLUDING CONSTRAINTS").primary_key == ("ts",)
    assert like(strategies="EXCLUDING WATERMARKS").watermark is None
    assert like(options="'connector' = 'kafka'", strategies="EXCLUDING OPTIONS").options == {"connector": "kafka"}


def test_options_are_overwritten_by_default() -> None:
    assert dict(like(options="'topic' = 'b', 'format' = 'json'").options) == {
        "connector": "kafka",
        "properties.sasl.password": "hunter2",
        "topic": "b",
        "format": "json",
    }


def test_user_info_of_inherited_options_is_not_shown() -> None:
    base = BASE.replace("'topic' = 'a'", "'avro-confluent.url' = 'http://u:hunter2@h'")
    with pytest.raises(ConflictingOptionsError, match=r"\['avro-confluent.url' -> 'http://\*{6}@h'\]"):
        like(options="'avro-confluent.url' = 'http://i'", strategies="INCLUDING OPTIONS", base=base)


def test_secrets_are_not_inherited_with_other_brokers() -> None:
    other_brokers = "'connector' = 'kafka', 'properties.bootstrap.servers' = 'other:9092'"
    with pytest.raises(MissingOptionError, match=r"LIKE: Option 'properties\.bootstrap\.servers' .*sasl\.password'"):
        like(options=other_brokers)
    assert like(options=f"{other_brokers}, 'properties.sasl.password' = 'b'").options["properties.sasl.password"] == "b"
    assert "properties.sasl.password" not in like(options=other_brokers, strategies="EXCLUDING OPTIONS").options


def test_overwritten_columns_and_watermarks() -> None:
    table = like(
        "twice AS id * 3, p BIGINT METADATA FROM 'offset', WATERMARK FOR ts AS ts",
        strategies="OVERWRITING GENERATED OVERWRITING METADATA OVERWRITING WATERMARKS",
    )
    assert names(table) == ["id", "ts", "p", "twice"]
    assert [column.declared for column in table.columns[2:]] == ["BIGINT", "id * 3"]
    assert table.watermark is not None
    assert table.watermark.declared == "ts"


@pytest.mark.parametrize(
    ("declared", "options", "strategies", "error", "message"),
    [
        ("id INT", "", "", SchemaError, "A column named 'id' already exists in the base table. Remove it or choose"),
        ("twice AS 1", "", "", SchemaError, "A generated column named 'twice' already exists in the base table. You"),
        ("twice AS 1", "", "", SchemaError, "EXCLUDING GENERATED or OVERWRITING GENERATED"),
        ("p INT METADATA", "", "", SchemaError, "A metadata column named 'p' already exists in the base table. You mi"),
        ("id AS 1", "", "", SchemaError, "Computed columns can only overwrite other computed columns"),
        ("twice INT METADATA", "", "", SchemaError, "Metadata columns can only overwrite other metadata columns"),
        ("p AS 1", "", "OVERWRITING GENERATED", SchemaError, "Computed columns can only overwrite other computed col"),
        ("x INT, x INT", "", "", SchemaError, "Column 'x' is declared more than once"),
        ("PRIMARY KEY (ts) NOT ENFORCED", "", "", SchemaError, "The base table already has a primary key"),
        ("WATERMARK FOR ts AS ts", "", "", SchemaError, "already exists a watermark spec for column 'ts'"),
        ("", "'topic' = 'b'", "INCLUDING OPTIONS", ConflictingOptionsError, "['topic' -> 'a'] in the base table"),
        (
            "",
            "'properties.sasl.password' = 'b'",
            "INCLUDING OPTIONS",
            ConflictingOptionsError,
            "['properties.sasl.password' -> '******']",
        ),
        ("", "", "INCLUDING ALL EXCLUDING ALL", UnsupportedSqlError, "ALL is declared twice"),
        ("", "", "OVERWRITING CONSTRAINTS", UnsupportedSqlError, "Illegal merging strategy 'OVERWRITING' for 'CONSTR"),
        ("", "", "OVERWRITING ALL", UnsupportedSqlError, "Illegal merging strategy 'OVERWRITING' for 'ALL'"),
    ],
)
def test_what_cannot_be_merged(
    declared: str, options: str, strategies: str, error: type[KafkaSqlError], message: str
) -> None:
    with pytest.raises(error) as e:
        like(declared, options, strategies)
    assert message in str(e.value)
    assert "hunter2" not in str(e.value)
