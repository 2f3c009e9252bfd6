"""Test record keys with a separate format, included in the value or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.topics import Topics

pytestmark = pytest.mark.integration

Sql = Callable[..., Any]
KEYED = {"format": None, "value.format": "json", "key.format": "json", "key.fields": "k"}


def table(topics: Topics, topic: str, **overrides: str | None) -> str:
    """Return the WITH clause of a table with a JSON key."""
    options = {**KEYED, **overrides}
    text = topics.with_options(topic, **{k: v for k, v in options.items() if v is not None})
    return text.replace("'format' = 'json', ", "", 1) if options["format"] is None else text


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=str)


def test_key_and_value_with_a_prefix(sql: Sql, topics: Topics) -> None:
    topic = topics.create()
    overrides = {"key.fields": "k_id;k_name", "key.fields-prefix": "k_", "value.fields-include": "EXCEPT_KEY"}
    sql(f"CREATE TABLE t (k_name STRING, id INT, k_id INT) {table(topics, topic, **overrides)}")
    sql("INSERT INTO t VALUES ('a', 1, 10), (NULL, NULL, 20)")
    found = topics.consume(topic, 2)
    assert sorted((m.key(), m.value()) for m in found) == [
        (b'{"id":10,"name":"a"}', b'{"id":1}'),
        (b'{"id":20,"name":null}', b'{"id":null}'),
    ]
    assert rows(sql("SELECT * FROM t")) == [("a", 1, 10), (None, None, 20)]


def test_columns_in_key_and_value_are_read_from_the_value(sql: Sql, topics: Topics) -> None:
    topic = topics.create()
    sql(f"CREATE TABLE t (a STRING, k INT) {table(topics, topic)}")
    topics.produce(topic, b'{"k": 2, "a": "x"}', key=b'{"k": 1}')
    topics.produce(topic, b'{"a": "y"}', key=b'{"k": 1}')
    assert rows(sql("SELECT k, a FROM t")) == [(2, "x"), (None, "y")]
    sql("INSERT INTO t VALUES ('z', 3)")
    last = topics.consume(topic, 3)[-1]
    assert (last.key(), last.value()) == (b'{"k":3}', b'{"a":"z","k":3}')


def test_a_null_key_produces_no_row_in_json_and_null_in_raw(sql: Sql, topics: Topics) -> None:
    topic = topics.create()
    except_key = {"value.fields-include": "EXCEPT_KEY"}
    sql(f"CREATE TABLE j (k INT, a INT, `offset` BIGINT METADATA VIRTUAL) {table(topics, topic, **except_key)}")
    raw = {**except_key, "key.format": "raw"}
    sql(f"CREATE TABLE r (k STRING, a INT, `offset` BIGINT METADATA VIRTUAL) {table(topics, topic, **raw)}")
    topics.produce(topic, b'{"a": 1}')
    topics.produce(topic, b'{"a": 2}', key=b'{"k": 5}')
    topics.produce(topic, None, key=b'{"k": 6}')
    topics.produce(topic, b'{"a": 3}', key=b"")
    assert rows(sql("SELECT * FROM j")) == [(5, 2, 1)]
    assert rows(sql("SELECT * FROM r")) == [("", 3, 3), ('{"k": 5}', 2, 1), (None, 1, 0)]


def test_keys_and_values_with_several_rows(sql: Sql, topics: Topics) -> None:
    topic = topics.create()
    overrides = {"value.fields-include": "EXCEPT_KEY"}
    sql(f"CREATE TABLE t (k INT, a INT, `offset` BIGINT METADATA VIRTUAL) {table(topics, topic, **overrides)}")
    topics.produce(topic, b'[{"a": 1}, {"a": 2}]', key=b'[{"k": 5}, {"k": 6}]')
    topics.produce(topic, b'{"a": 3}', key=b'{"k": 7}')
    assert [tuple(r) for r in sql("SELECT a, k, `offset` FROM t").collect()] == [
        (1, 5, 0),
        (1, 6, 0),
        (2, 5, 0),
        (2, 6, 0),
        (3, 7, 1),
    ]


def test_key_errors_name_the_offset_and_the_field(sql: Sql, topics: Topics) -> None:
    topic = topics.create()
    sql(f"CREATE TABLE t (k INT, a INT) {table(topics, topic)}")
    topics.produce(topic, b'{"a": 1}', key=b'{"k": 1}')
    topics.produce(topic, b'{"a": 1}', key=b'{"k": "x"}')
    with pytest.raises(PySparkException, match=rf"{topic}\[0\]@1 \(key\), field 'k': "):
        sql("SELECT * FROM t").collect()


def test_format_options_of_key_and_value(sql: Sql, topics: Topics) -> None:
    topic = topics.create()
    overrides = {
        "key.json.ignore-parse-errors": "true",
        "value.json.fail-on-missing-field": "true",
        "value.fields-include": "EXCEPT_KEY",
    }
    sql(f"CREATE TABLE t (k INT, a INT) {table(topics, topic, **overrides)}")
    topics.produce(topic, b'{"a": 1}', key=b'{"k": "no number"}')
    assert rows(sql("SELECT * FROM t")) == [(None, 1)]
    topics.produce(topic, b"{}", key=b'{"k": 1}')
    with pytest.raises(PySparkException, match=rf"{topic}\[0\]@1, field 'a'"):
        sql("SELECT * FROM t").collect()


@pytest.mark.long
def test_raw_keys_determine_the_partition(sql: Sql, topics: Topics) -> None:
    topic = topics.create(4)
    overrides = {"key.format": "raw", "value.format": "raw", "value.fields-include": "EXCEPT_KEY"}
    sql(f"CREATE TABLE t (k STRING, v STRING, `partition` INT METADATA VIRTUAL) {table(topics, topic, **overrides)}")
    sql("INSERT INTO t (k, v) SELECT concat('key', id % 5), cast(id AS STRING) FROM range(50)")
    found = rows(sql("SELECT k, count(*), count(DISTINCT `partition`) FROM t GROUP BY k"))
    assert found == [(f"key{i}", 10, 1) for i in range(5)]


def test_upsert_tables_have_the_latest_row_of_each_key(sql: Sql, topics: Topics) -> None:
    topic = topics.create(3)
    options = {"connector": "upsert-kafka", "key.format": "json", "value.format": "json"}
    options_sql = "".join(f", '{k}' = '{v}'" for k, v in options.items())
    sql(
        "CREATE TABLE t (id INT, name STRING, `partition` INT METADATA VIRTUAL, PRIMARY KEY (id) NOT ENFORCED) "
        f"WITH ('topic' = '{topic}', 'properties.bootstrap.servers' = '{topics.bootstrap}'{options_sql})"
    )
    sql("INSERT INTO t (id, name) SELECT id, concat('old', id) FROM range(20)")
    sql("INSERT INTO t (id, name) VALUES (3, 'new'), (4, 'gone'), (5, NULL)")
    gone = next(m for m in topics.consume(topic, 23, partitions=3) if m.key() == b'{"id":4}')
    assert gone.value() == b'{"id":4,"name":"old4"}'
    topics.produce(topic, None, key=b'{"id": 4}', partition=gone.partition() or 0)
    expected = [(i, {3: "new", 5: None}.get(i, f"old{i}")) for i in range(20) if i != 4]
    assert [tuple(r) for r in sql("SELECT id, name FROM t ORDER BY id").collect()] == expected
