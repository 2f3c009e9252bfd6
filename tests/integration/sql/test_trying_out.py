"""Tables of datagen, print and blackhole, in batches and as streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_sql.errors import MissingOptionError, UnsupportedSqlError
from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

ORDERS = """CREATE TABLE generated (id BIGINT, price DECIMAL(5, 2), name STRING, doubled AS id * 2) WITH (
    'connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '{end}',
    'fields.price.min' = '1', 'fields.price.max' = '2', 'fields.name.length' = '4')"""
PRINTED = "CREATE TABLE printed (id BIGINT, name STRING) WITH ('connector' = 'print', 'print-identifier' = 'out')"


def test_batches(sql: Any, capsys: pytest.CaptureFixture[str]) -> None:
    sql(ORDERS.format(end=25_000))
    sql(PRINTED)
    sql("CREATE TABLE nothing (id BIGINT) WITH ('connector' = 'blackhole')")
    result = sql("SELECT count(*), count(DISTINCT id), min(id), max(id), max(doubled), min(price) >= 1, "
                 "max(price) <= 2, min(length(name)), max(length(name)), count(DISTINCT name) > 10000 "
                 "FROM generated")  # fmt: skip
    assert result.collect() == [(25_000, 25_000, 1, 25_000, 50_000, True, True, 4, 4, True)]
    hint = "/*+ OPTIONS('number-of-rows' = '3') */"
    assert sql(f"SELECT id FROM generated {hint} ORDER BY id").collect() == [(1,), (2,), (3,)]
    sql("INSERT INTO printed VALUES (1, 'a'), (2, NULL)")
    sql(f"INSERT INTO printed (name) SELECT 'x' FROM generated {hint} WHERE id = 2")
    assert capsys.readouterr().out.splitlines() == ["out> +I[1, a]", "out> +I[2, null]", "out> +I[null, x]"]
    discard = "INSERT INTO nothing SELECT id FROM generated"
    sql(f"EXECUTE STATEMENT SET BEGIN {discard}; INSERT INTO printed VALUES (3, 'z'); END")
    assert capsys.readouterr().out.splitlines() == ["out> +I[3, z]"]
    assert [row.name for row in sql("DESCRIBE generated").collect()] == ["id", "price", "name", "doubled"]
    described = [(row.name, row.type) for row in sql("DESCRIBE EXTENDED nothing").collect()]
    assert described == [("id", "BIGINT"), ("", ""), ("# Kafka table", "default.nothing"), ("connector", "blackhole")]
    assert "'connector' = 'print'" in sql("SHOW CREATE TABLE printed").collect()[0][0]
    sql("CREATE TABLE endless (a INT) WITH ('connector' = 'datagen')")
    for statement, error, message in (
        ("SELECT * FROM endless", MissingOptionError, "'number-of-rows'"),
        ("SELECT * FROM printed", UnsupportedSqlError, "'print' is a sink"),
        ("INSERT INTO endless VALUES (1)", UnsupportedSqlError, "'datagen' is a source"),
    ):
        with pytest.raises(error, match=message):
            sql(statement).collect()
    for table in ("generated", "printed", "nothing", "endless"):
        sql(f"DROP TABLE {table}")


def test_streams(
    spark: Any, streaming: Any, topics: Topics, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = topics.create()
    streaming(ORDERS.format(end=50))
    streaming(PRINTED)
    streaming(f"CREATE TABLE tgt (id BIGINT) {topics.with_options(topic)}")
    (job,) = streaming("INSERT INTO tgt SELECT id FROM generated").first()
    # the last row of the sequence ends the query
    wait_until(lambda: spark.streams.get(job) is None, "the end of the query")
    assert sorted(int((m.value() or b"")[6:-1]) for m in topics.consume(topic, 50)) == list(range(1, 51))
    (job,) = streaming("INSERT INTO printed SELECT id, 'n' FROM generated WHERE id > 48").first()
    wait_until(lambda: spark.streams.get(job) is None, "the end of the query")
    assert sorted(capsys.readouterr().out.splitlines()) == ["out> +I[49, n]", "out> +I[50, n]"]
    streaming(
        "CREATE TABLE clicks (ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) "
        "WITH ('connector' = 'datagen')"
    )
    assert streaming("SELECT window_start, count(*) FROM TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' SECOND) "
                     "GROUP BY window_start, window_end").isStreaming  # fmt: skip
    for table in ("generated", "printed", "tgt", "clicks"):
        streaming(f"DROP TABLE {table}")


def test_changes(spark: Any, streaming: Any, topics: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    topic = topics.create()
    streaming(f"CREATE TABLE latest (id INT, n INT, PRIMARY KEY (id) NOT ENFORCED) {topics.with_upsert_options(topic)}")
    streaming("CREATE TABLE printed (id INT, n INT) WITH ('connector' = 'print', 'print-identifier' = 'row')")
    streaming("CREATE TABLE counts (n BIGINT, s BIGINT) WITH ('connector' = 'print', 'print-identifier' = 'count')")
    streaming("CREATE TABLE nothing (n BIGINT) WITH ('connector' = 'blackhole')")
    queries = []
    for insert in (
        "INSERT INTO printed SELECT id, n FROM latest",
        "INSERT INTO counts SELECT count(*), sum(n) FROM latest",
        "INSERT INTO nothing SELECT n FROM latest",
    ):
        streaming(f"SET 'pipeline.name' = '{insert.split()[2]}'")
        queries.append(spark.streams.get(streaming(insert).first()[0]))
    for payload in (b'{"id": 1, "n": 10}', b'{"id": 1, "n": 20}', None):
        topics.produce_all(topic, [(b'{"id": 1}', payload)])
        for query in queries:
            query.processAllAvailable()
    for query in queries:
        query.stop()
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "row" in line] == [
        "row> +I[1, 10]", "row> -U[1, 10]", "row> +U[1, 20]", "row> -D[1, 20]",
    ]  # fmt: skip
    assert [line for line in lines if "count" in line] == [
        "count> +I[1, 10]", "count> -U[1, 10]", "count> +U[1, 20]", "count> -D[1, 20]",
    ]  # fmt: skip
    streaming("RESET 'pipeline.name'")
    for table in ("printed", "counts", "nothing", "latest"):
        streaming(f"DROP TABLE {table}")
