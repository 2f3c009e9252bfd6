"""Bad input raises a clear error, and no data is lost."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from pyspark.errors import PySparkException

from kafka_sql.errors import SqlSyntaxError, TopicNotFoundError
from tests.topics import Topics

pytestmark = pytest.mark.integration


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def test_broker_not_reachable(sql: Any, topics: Topics, closed_port: int) -> None:
    options = {
        "properties.bootstrap.servers": f"127.0.0.1:{closed_port}",
        "properties.socket.connection.setup.timeout.ms": "1500",
    }
    sql(f"CREATE TABLE far (a INT) {topics.with_options('x', **options)}")
    for statement in ("SELECT * FROM far", "INSERT INTO far VALUES (1)"):
        started = time.monotonic()
        with pytest.raises(Exception, match=rf"No broker of '127.0.0.1:{closed_port}' .* within 1.5 s: .*refused"):
            sql(statement).collect()
        assert time.monotonic() - started < 15


def test_topic_does_not_exist(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    sql(f"CREATE TABLE wrong (a INT) {topics.with_options(topic + 'x')}")
    for statement in ("SELECT * FROM wrong", "INSERT INTO wrong VALUES (1)"):
        with pytest.raises(Exception, match=rf"Topic '{topic}x' does not exist .* Did you mean 'topic-"):
            sql(statement).collect()
    with pytest.raises(TopicNotFoundError) as caught:  # an eager statement raises the error of this package
        sql("INSERT INTO wrong VALUES (1)")
    assert isinstance(caught.value.__cause__, PySparkException)
    assert topic + "x" not in topics.admin.list_topics(timeout=10).topics


def test_a_value_of_the_wrong_type(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b'{"a": 1}', b'{"a": "one"}', b'{"a": 3}')
    sql(f"CREATE TABLE t (a INT) {topics.with_options(topic)}")
    with pytest.raises(Exception, match=rf"\[DECODE\] {topic}\[0\]@1, field 'a': .*one"):
        sql("SELECT * FROM t").collect()
    skipping = topics.with_options(topic, **{"json.ignore-parse-errors": "true"})
    sql(f"CREATE TABLE s (a INT, `offset` BIGINT METADATA VIRTUAL) {skipping}")
    assert sql("SELECT * FROM s").collect() == [(1, 0), (None, 1), (3, 2)]


def test_a_record_that_is_not_json(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b'{"a": 1}', b"oops", b'{"a": 3}')
    sql(f"CREATE TABLE t (a INT) {topics.with_options(topic)}")
    with pytest.raises(Exception, match=rf"\[DECODE\] {topic}\[0\]@1: .*oops"):
        sql("SELECT * FROM t").collect()
    skipping = topics.with_options(topic, **{"json.ignore-parse-errors": "true"})
    sql(f"CREATE TABLE s (a INT, `offset` BIGINT METADATA VIRTUAL) {skipping}")
    assert sql("SELECT * FROM s").collect() == [(1, 0), (3, 2)]


def test_syntax_error_shows_line_column_and_marked_text(sql: Any) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        sql(
            "CREATE TABLE t (\n  a INT,\n  b BIGINT BIGINT\n) "
            "WITH ('connector' = 'kafka', 'properties.sasl.password' = 'hunter2')"
        )
    message = str(caught.value)
    assert "line 3, column 12" in message
    assert "3 |   b BIGINT BIGINT\n      |            ^^^^^^" in message
    assert "hunter2" not in message


def test_record_too_large_for_the_broker(sql: Any, topics: Topics) -> None:
    topic = topics.create(max_message_bytes="1000")
    sql(f"CREATE TABLE small (a STRING) {topics.with_options(topic)}")
    with pytest.raises(Exception, match=rf"{topic}\[0\].*too large \(MESSAGE_TOO_LARGE\).*max\.message\.bytes"):
        sql("INSERT INTO small VALUES (repeat('x', 5000))")
    topics.consume(topic, 0)


def test_a_deleted_topic_fails_the_write(sql: Any, topics: Topics) -> None:
    topic = topics.create(max_message_bytes="1000")
    options = topics.with_options(topic, **{"properties.delivery.timeout.ms": "2000"})
    sql(f"CREATE TABLE gone (a BIGINT) {options}")
    topics.admin.delete_topics([topic])[topic].result(30)
    with pytest.raises(Exception, match=rf"Topic '{topic}' does not exist"):
        sql("INSERT INTO gone SELECT id FROM range(10)")


def test_a_timestamp_that_kafka_does_not_support(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    sql(f"CREATE TABLE old (a INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp') {topics.with_options(topic)}")
    with pytest.raises(Exception, match=r"Column 'ts' .*before 1970-01-01"):
        sql("INSERT INTO old VALUES (1, TIMESTAMP '1969-07-20 20:17:40Z')")
    topics.consume(topic, 0)
