"""Columns that a query does not use are decoded, and how a query can do without them."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.errors import DecodeError, SchemaError
from tests.topics import Topics

pytestmark = pytest.mark.integration


@pytest.fixture
def topic(sql: Any, topics: Topics) -> str:
    """A topic with a value that does not match the column ``b`` of the table ``t``."""
    name = topics.create()
    topics.produce(name, b'{"a": 1, "b": 10}', b'{"a": 2, "b": "x"}', b'{"a": 3, "b": 30}')
    sql(f"CREATE TABLE t (a INT, b INT) {topics.with_options(name)}")
    return name


@pytest.mark.parametrize("query", ["SELECT a FROM t", "SELECT count(*) FROM t"])
@pytest.mark.usefixtures("topic")
def test_an_invalid_value_in_an_unused_column_fails_the_query(sql: Any, query: str) -> None:
    with pytest.raises(DecodeError, match=r"\[0\]@1, field 'b': found \"x\""):
        sql(query).collect()


def test_a_table_with_fewer_columns_does_not_decode_the_others(sql: Any, topics: Topics, topic: str) -> None:
    sql(f"CREATE TABLE narrow (a INT) {topics.with_options(topic)}")
    assert sorted(sql("SELECT a FROM narrow").collect()) == [(1,), (2,), (3,)]
    assert sql("SELECT count(*) FROM narrow").collect() == [(3,)]


@pytest.mark.usefixtures("topic")
def test_a_hint_reads_an_invalid_value_as_null(sql: Any) -> None:
    hinted = "t /*+ OPTIONS('json.ignore-parse-errors' = 'true') */"
    assert sorted(sql(f"SELECT a FROM {hinted}").collect()) == [(1,), (2,), (3,)]
    assert sorted(sql(f"SELECT a, b FROM {hinted} WHERE a > 1").collect()) == [(2, None), (3, 30)]


@pytest.mark.usefixtures("topic")
def test_a_dataframe_can_use_a_column_that_its_query_does_not_select(sql: Any) -> None:
    hinted = "t /*+ OPTIONS('json.ignore-parse-errors' = 'true') */"
    assert sql(f"SELECT a FROM {hinted}").where("b > 10").collect() == [(3,)]


@pytest.mark.usefixtures("topic")
def test_the_schema_of_a_table_cannot_be_narrowed_in_the_reader(spark: Any) -> None:
    with pytest.raises(SchemaError, match=r"the read's schema differs from the table's in column 'b'. Remove"):
        spark.read.format("kafka.t").schema("a INT").load().collect()


def test_a_csv_table_with_only_the_first_columns(sql: Any, topics: Topics) -> None:
    name = topics.create()
    topics.produce(name, b"1,one,x", b"2,two,20")
    options = topics.with_options(name, **{"format": "csv", "csv.ignore-trailing-unmappable": "true"})
    sql(f"CREATE TABLE first_columns (a INT, b STRING) {options}")
    assert sorted(sql("SELECT * FROM first_columns").collect()) == [(1, "one"), (2, "two")]


def test_an_avro_table_with_only_the_first_columns(sql: Any, topics: Topics) -> None:
    name = topics.create()
    options = topics.with_options(name, format="avro")
    sql(f"CREATE TABLE all_columns (a INT, b STRING, c BIGINT) {options}")
    sql("INSERT INTO all_columns VALUES (1, 'one', 10), (2, NULL, 20)")
    sql(f"CREATE TABLE first_columns (a INT, b STRING) {options}")
    assert sorted(sql("SELECT * FROM first_columns").collect()) == [(1, "one"), (2, None)]
