"""CREATE TABLE without columns, with the schema in the options, so that no schema registry is needed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_sql.definition import validate_table
from kafka_sql.errors import MissingOptionError, SchemaError
from kafka_sql.sql.declarations.added_columns import add_inferred_columns
from kafka_sql.sql.declarations.create import to_table
from kafka_sql.sql.declarations.render import render_create_table
from kafka_sql.sql.grammar.parser import parse_declaration
from kafka_sql.table.table import Table

WITH = "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'localhost:9092'"
VALUE = "'value.format' = 'avro-confluent', 'value.avro-confluent.url' = 'http://localhost:8081'"
KEY = "'key.format' = 'avro-confluent', 'key.avro-confluent.url' = 'http://localhost:8081'"


def record(**fields: Any) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields.items()]})


def create_table(statement: str) -> Table:
    return to_table(add_inferred_columns(parse_declaration(statement)))


def table_of_schema(schema: str, extra_options: str = "", columns: str = "") -> Table:
    return create_table(
        f"CREATE TABLE t {columns} WITH ({WITH}, {VALUE}, 'value.avro-confluent.schema' = '{schema}'{extra_options})"
    )


@pytest.mark.parametrize(
    ("avro", "declared"),
    [
        ("int", "INT NOT NULL"),
        (["null", "long"], "BIGINT"),
        (["string", "null"], "STRING"),
        (["double"], "DOUBLE NOT NULL"),
        ("boolean", "BOOLEAN NOT NULL"),
        ("float", "FLOAT NOT NULL"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "DECIMAL(9, 2) NOT NULL"),
        ({"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 9}, "DECIMAL(9, 0) NOT NULL"),
        ({"type": "fixed", "name": "F", "size": 4}, "BYTES NOT NULL"),
        ({"type": "enum", "name": "E", "symbols": ["a"]}, "STRING NOT NULL"),
        ({"type": "string", "logicalType": "uuid"}, "STRING NOT NULL"),
        ({"type": "int", "logicalType": "date"}, "DATE NOT NULL"),
        ({"type": "int", "logicalType": "time-millis"}, "TIME(3) NOT NULL"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "TIMESTAMP_LTZ(3) NOT NULL"),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, "TIMESTAMP(6) NOT NULL"),
        ({"type": "array", "items": ["null", "int"]}, "ARRAY<INT> NOT NULL"),
        ({"type": "map", "values": "int"}, "MAP<STRING NOT NULL, INT NOT NULL> NOT NULL"),
        (
            ["null", {"type": "record", "name": "S", "fields": [{"name": "x", "type": ["null", "int"]}]}],
            "ROW<`x` INT>",
        ),
    ],
)
def test_column_types(avro: Any, declared: str) -> None:
    [column] = table_of_schema(record(a=avro)).columns
    assert (column.name, column.nullable) == ("a", not declared.endswith(" NOT NULL"))
    assert column.declared.removesuffix(" NOT NULL") == declared.removesuffix(" NOT NULL")


def test_declared_columns_follow_the_inferred_ones() -> None:
    table = table_of_schema(
        record(a="int", b=["null", "string"]), columns="(o BIGINT METADATA FROM 'offset' VIRTUAL, c AS a + 1)"
    )
    assert [c.name for c in table.columns] == ["a", "b", "o", "c"]
    assert table.options["value.avro-confluent.schema"] == record(a="int", b=["null", "string"])
    copy = create_table(render_create_table(table))
    assert copy == table
    assert validate_table(table).value.columns == ("a", "b")


def test_key_columns_come_first() -> None:
    key = f", {KEY}, 'key.avro-confluent.schema' = '{record(id='long')}'"
    table = table_of_schema(record(a="int"), key)
    assert [c.name for c in table.columns] == ["id", "a"]
    definition = validate_table(table)
    assert definition.key is not None
    assert (definition.key.columns, definition.value.columns) == (("id",), ("a",))
    key_in_value = validate_table(table_of_schema(record(a="int", id="long"), key))
    assert key_in_value.key is not None
    assert (key_in_value.key.columns, key_in_value.value.columns) == (("id",), ("id", "a"))
    with_prefix = validate_table(table_of_schema(record(a="int"), f"{key}, 'key.fields-prefix' = 'k_'"))
    assert with_prefix.key is not None
    assert (with_prefix.key.columns, with_prefix.key.fields) == (("k_id",), ("id",))


def test_tables_with_columns_and_formats_that_cannot_infer_them_are_unchanged() -> None:
    assert [c.name for c in table_of_schema(record(a="int"), columns="(z INT)").columns] == ["z"]
    with pytest.raises(SchemaError, match="declares no columns"):
        create_table(f"CREATE TABLE t WITH ({WITH}, 'format' = 'avro')")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (record(a=["int", "string"]), "Field 'a' of the Avro schema is [int, string], a union of several types"),
        (record(a={"type": "array", "items": "null"}), "Field 'a[]' of the Avro schema is null"),
        ('"string"', "is string, expected a record"),
        (record(a="Missing"), "names the unknown type 'Missing'. Declare the table's columns"),
    ],
)
def test_unsupported_schemas(schema: str, message: str) -> None:
    with pytest.raises(SchemaError) as e:
        table_of_schema(schema)
    assert message in str(e.value)


def test_subject_is_required() -> None:
    with pytest.raises(MissingOptionError, match=r"set 'avro-confluent\.subject'"):
        create_table(f"CREATE TABLE t WITH ({WITH}, {VALUE})".replace("'t'", "'t;u'"))


@pytest.mark.parametrize(
    "properties",
    [{"${env:HOME}": {"type": "string"}}, {"a": {"type": "object", "properties": {"${env:HOME}": {"type": "string"}}}}],
)
def test_names_that_spark_would_replace_by_variables_are_rejected(properties: dict[str, Any]) -> None:
    schema = json.dumps({"type": "object", "properties": properties})
    options = f"{WITH}, 'format' = 'json-confluent', 'json-confluent.url' = 'http://localhost:8081'"
    with pytest.raises(SchemaError, match=r"Column '.*': the names of columns and fields must not contain '\$\{'"):
        create_table(f"CREATE TABLE t WITH ({options}, 'json-confluent.schema' = '{schema}')")
    with pytest.raises(SchemaError, match=r"must not contain '\$\{'"):
        create_table(f"CREATE TABLE t (a INT, `${{env:HOME}}` AS a) WITH ({options})")
    table = create_table(f"CREATE TABLE t (a INT COMMENT '${{env:HOME}}', b AS '${{env:HOME}}') WITH ({options})")
    assert (table.columns[0].comment, table.columns[1].expression) == (
        "${env:HOME}",
        "CAST(unhex('247B656E763A484F4D457D') AS STRING)",
    )
