"""Continuous queries that would write wrong rows, or could never run, are rejected by their statement."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.errors import (
    CheckpointError,
    InvalidOptionError,
    KafkaSqlError,
    TopicNotFoundError,
    UnsupportedSqlError,
)
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.sql.jobs.checkpoints.checkpoint import FINGERPRINT_FILE
from kafka_sql.sql.jobs.checkpoints.fingerprint import make_fingerprint
from tests.topics import Topics
from tests.unit.sql.jobs.plans import table
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


def run(spark: Any, result: Any) -> None:
    """Run a continuous query until it has read all records."""
    query = spark.streams.get(result.collect()[0][0])
    query.processAllAvailable()
    query.stop()


def upsert_options(topics: Topics, topic: str) -> str:
    return (
        f"WITH ('connector' = 'upsert-kafka', 'topic' = '{topic}', 'key.format' = 'json', 'value.format' = 'json', "
        f"'properties.bootstrap.servers' = '{topics.bootstrap}')"
    )


@pytest.mark.long
def test_a_changed_window_is_rejected(spark: Any, streaming: Any, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    streaming(
        "CREATE TABLE src (a INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR ts AS ts) "
        + topics.with_options(source)
    )
    streaming(f"CREATE TABLE tgt (t TIMESTAMP_LTZ(3), n BIGINT) {topics.with_options(target)}")
    streaming("SET 'pipeline.name' = 'windows'")
    for minute in (10, 50, 70):
        topics.produce(source, b'{"a": 1}', timestamp=minute * 60_000)
    insert = "INSERT INTO tgt SELECT window.start, {} FROM src {} GROUP BY window(ts, '{}')"
    statement = insert.format("count(*)", "", "1 hour")
    run(spark, streaming(statement))
    file = tmp_path / "windows" / FINGERPRINT_FILE
    fingerprint = json.loads(file.read_text())
    for changed, message in [
        (
            insert.format("count(*)", "", "2 hours"),
            r"the window changed from window\(ts, 1 hour\) to window\(ts, 2 hours\)",
        ),
        (insert.format("sum(a)", "", "1 hour"), r"the aggregates changed from count\(1\) to sum\(a\)"),
        ("INSERT INTO tgt SELECT ts, a FROM src", "the stateful operators changed from aggregation to none"),
        (
            "INSERT INTO src SELECT a, ts FROM src",
            f"the sink changed from table 'default.tgt' .topic '{target}'. to table ",
        ),
    ]:
        with pytest.raises(CheckpointError, match=message):
            streaming(changed)
    assert json.loads(file.read_text()) == fingerprint
    file.unlink()  # a checkpoint without a fingerprint is accepted
    topics.produce(source, b'{"a": 2}', timestamp=130 * 60_000)
    run(spark, streaming(insert.format("count(*)", "WHERE a < 9", "1 hour")))
    assert json.loads(file.read_text()) == fingerprint
    rows = [json.loads(m.value() or b"") for m in topics.consume(target, 2)]
    assert [(row["t"], row["n"]) for row in rows] == [("1970-01-01 00:00:00Z", 2), ("1970-01-01 01:00:00Z", 1)]


def test_rows_that_would_stay_are_rejected_and_row_kinds_delete(
    spark: Any, streaming: Any, topics: Topics, tmp_path: Path
) -> None:
    source, target = topics.create(), topics.create()
    streaming(f"CREATE TABLE src (k INT, v INT) {topics.with_options(source)}")
    streaming(
        "CREATE TABLE tgt (k INT, n BIGINT, kind STRING METADATA FROM 'row-kind', PRIMARY KEY (k) NOT ENFORCED) "
        + upsert_options(topics, target)
    )
    streaming(f"CREATE TABLE plain (k INT, n BIGINT) {topics.with_options(target)}")
    spark.range(3).write.parquet(f"{tmp_path}/static")
    files = f"parquet.`{tmp_path}/static`"
    counts = "SELECT k, count(*) AS n FROM src GROUP BY k"
    for query, message in [
        (f"SELECT k, n FROM ({counts}) WHERE n < 3 * rand()", r"the filter .*rand.* over a streaming aggregate"),
        (f"SELECT k, n FROM ({counts}) JOIN {files} ON n = id", "a join over a streaming aggregate"),
        (f"SELECT k, n FROM ({counts}) LIMIT 3", "LIMIT over a streaming aggregate"),
    ]:
        with pytest.raises(UnsupportedSqlError, match=message):
            streaming(f"INSERT INTO tgt (k, n) {query}")
    with pytest.raises(UnsupportedSqlError, match=r"'default\.plain' doesn't support consuming update changes"):
        streaming(f"INSERT INTO plain {counts}")
    with pytest.raises(
        UnsupportedSqlError, match=r"it sets the column METADATA FROM 'row-kind' itself.*tgt \(\.\.\.\)"
    ):
        streaming(f"INSERT INTO tgt {counts.replace('AS n', 'AS n, NULL')} HAVING count(*) < 3")
    assert spark.streams.active == []
    insert = f"INSERT INTO tgt SELECT k, n, CASE WHEN n < 3 THEN '+U' ELSE '-D' END FROM ({counts}) WHERE k < 5"
    for batch in ((1, 1, 2), (1, 9)):
        topics.produce(source, *(b'{"k": %d, "v": 0}' % k for k in batch))
        run(spark, streaming(insert))
    records = [(json.loads(m.key() or b"")["k"], m.value()) for m in topics.consume(target, 3)]
    assert sorted(records[:2]) == [(1, b'{"k":1,"n":2}'), (2, b'{"k":2,"n":1}')]
    assert records[2:] == [(1, None)]


def test_what_cannot_run_is_rejected_by_its_statement(spark: Any, streaming: Any, topics: Topics) -> None:
    source = topics.create()
    topics.delete("no-such-topic")
    streaming(f"CREATE TABLE src (k INT, n BIGINT) {topics.with_options(source)}")
    streaming(f"CREATE TABLE gone (k INT, n BIGINT) {topics.with_options('no-such-topic')}")
    streaming(f"CREATE TABLE changes (k INT, n BIGINT) {topics.with_options(source, format='debezium-json')}")
    streaming(f"CREATE TABLE latest (k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) {upsert_options(topics, source)}")
    cases: list[tuple[str, type[KafkaSqlError], str]] = [
        ("INSERT INTO src SELECT * FROM gone", TopicNotFoundError, "'no-such-topic' does not exist"),
        ("INSERT INTO gone SELECT * FROM src", TopicNotFoundError, "'no-such-topic' does not exist"),
        ("INSERT INTO src SELECT * FROM changes", UnsupportedSqlError, "consuming update and delete changes"),
        ("INSERT INTO src SELECT * FROM latest", UnsupportedSqlError, r"node TableSourceScan\(table=\[default.latest"),
    ]
    for statement, error, message in cases:
        with pytest.raises(error, match=message):
            streaming(statement)
    for folder in ("/proc/no", "nosuch://host/a"):
        streaming(f"SET 'execution.checkpointing.dir' = '{folder}'")
        with pytest.raises(
            InvalidOptionError, match=rf"checkpoint folder '{folder}/insert-into_default.src' cannot be"
        ):
            streaming("INSERT INTO src SELECT * FROM src")
    assert spark.streams.active == []


def test_a_later_failure_is_logged(
    spark: Any, streaming: Any, topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    source = topics.create()
    streaming(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(topics.create())}")
    caplog.set_level(logging.ERROR, "kafka_sql.sql.jobs")
    (row,) = streaming("INSERT INTO tgt SELECT a FROM src").collect()
    topics.produce(source, b"no JSON")
    wait_until(lambda: caplog.messages != [], "the failure is logged")
    (message,) = caplog.messages
    assert message.startswith(f"INSERT INTO 'default.tgt': job '{row[0]}' (insert-into_default.tgt) failed: [DECODE] ")


COUNT = {"operator": "aggregation", "window": [], "grouping": [], "aggregates": ["count(1)"]}
AGGREGATES = """WITH x AS (SELECT value % 3 AS k, CAST(value AS INT) AS i FROM rate_one WHERE value > 1)
    SELECT k, count(DISTINCT i), sum(i) FILTER (WHERE i > 2), max_by(i, k) FROM x GROUP BY k, i + 1 HAVING sum(i) > 7"""
JOIN = """SELECT a.timestamp FROM rate_one AS a LEFT JOIN rate_two AS b
    ON a.value = b.value AND b.timestamp BETWEEN a.timestamp AND a.timestamp + INTERVAL '1' HOUR"""
OPERATORS: list[tuple[str, list[dict[str, Any]]]] = [
    ("SELECT value * 2 FROM rate_one WHERE value > 1", []),
    ("SELECT value FROM rate_one JOIN range(3) ON value = id", []),
    *(
        (
            "SELECT count(*) FROM rate_one GROUP BY " + re.sub(r"\d+ \w+", r"'\g<0>'", window),
            [{**COUNT, "window": [window]}],
        )
        for window in (
            "window(timestamp, 10 minutes)",
            "window(timestamp, 1 day, 6 hours)",
            "window(timestamp, 10 minutes, 3 minutes, 90 seconds)",
            "session_window(timestamp, 5 minutes)",
        )
    ),
    (
        AGGREGATES,
        [
            {
                "operator": "aggregation",
                "window": [],
                "grouping": ["(value % CAST(3 AS long))", "(CAST(value AS integer) + 1)"],
                "aggregates": [
                    "count(DISTINCT CAST(value AS integer))",
                    "sum(CAST(value AS integer)) FILTER (WHERE (CAST(value AS integer) > 2))",
                    "max_by(CAST(value AS integer), (value % CAST(3 AS long)))",
                    "sum(CAST(value AS integer))",
                ],
            }
        ],
    ),
    (
        JOIN,
        [
            {
                "operator": "join",
                "type": "LEFT OUTER",
                "condition": "((1.value = 2.value) AND between(with(((common_expression_ref() >= 1.timestamp) AND "
                "(common_expression_ref() <= CAST(timestamp_add_interval(1.timestamp, 3600000000) AS timestamp))), "
                "common_expression_def(2.timestamp))))",
                "left": ["1.timestamp", "1.value"],
                "right": ["2.timestamp", "2.value"],
            }
        ],
    ),
    ("SELECT DISTINCT value FROM rate_one", [{"operator": "DISTINCT", "columns": ["value"]}]),
    ("SELECT value FROM rate_one LIMIT 5", [{"operator": "LIMIT"}]),
    (
        "SELECT x, count(*) FROM (SELECT explode(array(value, 7)) AS x FROM rate_one) GROUP BY x",
        [{**COUNT, "grouping": ["explode(create_array(value, CAST(7 AS long)))"]}],
    ),
    (
        "SELECT v, count(*) FROM (SELECT value AS v FROM rate_one UNION ALL SELECT -value FROM rate_two) GROUP BY v",
        [{**COUNT, "grouping": ["union(1.value, unary_minus(2.value))"]}],
    ),
]


def test_fingerprints_of_plans(spark: Any, sql: Any) -> None:
    """They must be the same in each version of Spark: a checkpoint outlives an upgrade."""
    for name in ("one", "two"):
        stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
        stream.createOrReplaceTempView(f"rate_{name}")
    for query, expected in OPERATORS:
        assert make_fingerprint(read_plan(sql(query)), table("out"), {})["operators"] == expected, query
