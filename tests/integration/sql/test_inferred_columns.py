"""CREATE TABLE without columns: they are inferred from the topic's records."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_sql.errors import DecodeError, SchemaError, TopicNotFoundError
from kafka_sql.source.schema_inference import MAX_RECORDS
from tests.topics import Topics

pytestmark = pytest.mark.integration


def test_json_columns(sql: Any, topics: Topics) -> None:
    topic = topics.create(partitions=2)
    topics.produce(
        topic,
        b'{"id": 1, "price": 2.5, "at": "2020-12-30 12:13:14", "lines": [{"sku": "a", "n": 1}]}',
        None,
        b'[{"id": 2, "note": null, "address": {"city": "Bonn"}}, {"id": 3, "id\\u0020x": 9223372036854775808}]',
    )
    topics.produce(topic, b'{"id": 4, "price": 3, "lines": [{"open": true}], "mixed": 1}', partition=1)
    topics.produce(topic, b'{"id": 5, "mixed": {"x": 1.50}}', partition=1)
    sql(
        "CREATE TABLE orders (ts AS TO_TIMESTAMP(`at`), part INT METADATA FROM 'partition' VIRTUAL, "
        f"WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) {topics.with_options(topic)}"
    )
    statement = sql("SHOW CREATE TABLE orders").first()[0]
    assert statement.partition("\n) WITH")[0] == "\n".join(
        (
            "CREATE TABLE `default`.`orders` (",
            "  `id` BIGINT,",
            "  `price` DOUBLE,",
            "  `at` STRING,",
            "  `lines` ARRAY<ROW<`sku` STRING, `n` BIGINT, `open` BOOLEAN>>,",
            "  `note` STRING,",
            "  `address` ROW<`city` STRING>,",
            "  `id x` STRING,",
            "  `mixed` STRING,",
            "  `ts` AS TO_TIMESTAMP(`at`),",
            "  `part` INT METADATA FROM 'partition' VIRTUAL,",
            "  WATERMARK FOR `ts` AS ts - INTERVAL '5' SECOND",
        )
    )
    rows = sql(
        "SELECT id, price, CAST(ts AS STRING), lines, note, address.city, `id x`, mixed, part FROM orders ORDER BY id"
    ).collect()
    assert [tuple(row) for row in rows] == [
        (1, 2.5, "2020-12-30 12:13:14", [("a", 1, None)], None, None, None, None, 0),
        (2, None, None, None, None, "Bonn", None, None, 0),
        (3, None, None, None, None, None, "9223372036854775808", None, 0),
        (4, 3.0, None, [(None, None, True)], None, None, None, "1", 1),
        (5, None, None, None, None, None, None, '{"x":1.5}', 1),
    ]


def test_csv_columns(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"7|a|1.5|NULL", b'8|"b|c"|2|true')
    options = {"format": "csv", "csv.field-delimiter": "|", "csv.null-literal": "NULL"}
    sql(f"CREATE TABLE visits {topics.with_options(topic, **options)}")
    assert [tuple(row)[:2] for row in sql("DESCRIBE visits").collect()] == [
        ("_c0", "BIGINT"),
        ("_c1", "STRING"),
        ("_c2", "DOUBLE"),
        ("_c3", "BOOLEAN"),
    ]
    assert sql("SELECT * FROM visits ORDER BY _c0").collect() == [(7, "a", 1.5, None), (8, "b|c", 2.0, True)]


def test_key_columns(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b'{"name": "a"}', b'{"name": "b"}', key=b"7")
    topics.produce(topic, b'{"name": "c"}', key=b"8")
    formats = {"value.format": "json", "key.format": "raw"}
    without_format = topics.with_options(topic, **formats).replace("'format' = 'json', ", "")
    sql(f"CREATE TABLE users {without_format}")
    assert sql("SELECT `key`, name FROM users ORDER BY name").collect() == [("7", "a"), ("7", "b"), ("8", "c")]
    upsert = without_format.replace("'kafka'", "'upsert-kafka'").replace(
        "'scan.startup.mode' = 'earliest-offset', ", ""
    )
    sql(f"CREATE TABLE latest (PRIMARY KEY (id) NOT ENFORCED) {upsert}")
    assert sql("SELECT id, name FROM latest ORDER BY name").collect() == [("7", "b"), ("8", "c")]
    sql("INSERT INTO latest SELECT '8', 'd'")
    assert sql("SELECT id, name FROM latest ORDER BY name").collect() == [("7", "b"), ("8", "d")]


def test_the_sample_has_the_oldest_and_the_newest_records_of_all_partitions(sql: Any, topics: Topics) -> None:
    topic = topics.create(partitions=2)
    share = MAX_RECORDS // 4
    topics.produce(topic, b'{"first": 1}', *[b'{"a": 1}'] * share, b'{"unseen": 1}', *[b'{"a": 1}'] * share)
    topics.produce(topic, *[b'{"a": 1}'] * share, b'{"unseen": 1}', *[b'{"a": 1}'] * share, b'{"last": 1}', partition=1)
    sql(f"CREATE TABLE whole {topics.with_options(topic)}")
    assert sql("SELECT * FROM whole LIMIT 0").columns == ["first", "a", "last"]
    sql(f"CREATE TABLE new {topics.with_options(topic, **{'scan.startup.mode': 'latest-offset'})}")
    assert sql("SELECT * FROM new LIMIT 0").columns == ["a", "unseen", "last"]


def test_newest_offsets_without_records(sql: Any, topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = topics.create()
    producer = Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": topic})
    producer.init_transactions()
    for value in (b'{"a": 1}', b"aborted"):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush()
        (producer.abort_transaction if value == b"aborted" else producer.commit_transaction)()
    monkeypatch.setattr("kafka_sql.source.schema_inference.MAX_RECORDS", 2)
    options = {"scan.startup.mode": "latest-offset", "properties.isolation.level": "read_committed"}
    sql(f"CREATE TABLE committed {topics.with_options(topic, **options)}")
    assert sql("SELECT * FROM committed").columns == ["a"]


def test_refused_topics(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    with pytest.raises(
        SchemaError, match=rf"cannot be inferred: topic '{topic}' has no records with a value in the form"
    ):
        sql(f"CREATE TABLE bad {topics.with_options(topic)}")
    with pytest.raises(TopicNotFoundError):
        sql(f"CREATE TABLE bad {topics.with_options(topic + 'x')}")
    topics.produce(topic, b'{"a": 1}', b"\x00encrypted")
    with pytest.raises(DecodeError, match=rf"{topic}\[0\]@1: the payload is not"):
        sql(f"CREATE TABLE bad {topics.with_options(topic)}")
    assert not sql("SHOW TABLES LIKE 'bad'").collect()
    sql(f"CREATE TABLE good {topics.with_options(topic, **{'json.ignore-parse-errors': 'true'})}")
    assert sql("SELECT * FROM good").collect() == [(1,)]
    sql(f"CREATE TABLE IF NOT EXISTS good {topics.with_options(topic)}")
    assert sql("SELECT * FROM good").collect() == [(1,)]
