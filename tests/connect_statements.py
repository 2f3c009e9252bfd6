"""Run Flink's statements in a session of Spark Connect: ``python -m tests.connect_statements URL FOLDER OPTIONS SINK``.

OPTIONS and SINK are the WITH clauses of a source and a sink table. A last argument, ``all``, adds statements that take
longer. The program prints ``passed`` at its end.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

import kafka_sql
from kafka_sql.errors import DecodeError, UnknownOptionError, UnsupportedSqlError

INSERT = "INSERT INTO counts WITH c AS (SELECT a, count(*) AS n FROM orders GROUP BY a) SELECT a, n FROM c"


def main(url: str, folder: str, options: str, sink: str, extent: str = "") -> None:
    """Run the statements, and end the session."""
    spark = SparkSession.builder.remote(url).getOrCreate()
    assert "connect" in type(spark).__module__
    assert kafka_sql.enable(spark) is spark
    read_and_write(spark, options)
    list_tables(spark, options)
    if extent == "all":
        infer_columns(spark, options)
    report_undecodable_records(spark, folder, options)
    run_jobs(spark, folder, sink)
    if extent == "all":
        write_dataframes(spark)
    spark.sql("ALTER TABLE sink RENAME TO target")
    spark.sql("DROP TABLE orders")
    assert [row.tableName for row in spark.sql("SHOW TABLES").collect()] == ["target"]
    if extent == "all":
        use_another_session(spark, options)
    spark.stop()
    print("passed")


def read_and_write(spark: Any, options: str) -> None:
    """Create a table, write rows and read them."""
    columns = "a INT, b AS a + 1, h AS PRINTF('%02d', HOUR(TO_TIMESTAMP_LTZ(a, 0)))"
    columns += ", ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
    assert spark.sql(f"CREATE TABLE orders ({columns}) {options}").collect() == []
    spark.sql("INSERT INTO orders (a) VALUES (1), (2)")
    assert rows(spark.sql("SELECT a, b FROM orders WHERE a = :x", {"x": 1})) == [(1, 2)]
    assert rows(spark.sql("SELECT sum({t}.b) FROM {t}", t=spark.table("orders"))) == [(5,)]
    assert rows(spark.sql("SELECT max(default.orders.b) FROM default.orders")) == [(3,)]
    spark.sql("INSERT INTO default.orders (a) SELECT a + 1 FROM spark_catalog.default.orders WHERE a = 2")
    hint = "/*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */"
    assert rows(spark.sql(f"SELECT max(b) FROM orders {hint}")) == [(4,)]
    assert spark.readStream.table("orders").isStreaming
    spark.sql("SET 'table.local-time-zone' = 'Asia/Tokyo'")
    assert rows(spark.sql("SELECT DISTINCT h FROM orders")) == [("09",)]


def list_tables(spark: Any, options: str) -> None:
    """Describe the table, and reject an unknown option."""
    assert [row.name for row in spark.sql("DESCRIBE orders").collect()] == ["a", "b", "h", "ts"]
    assert [row.tableName for row in spark.sql("SHOW TABLES").collect()] == ["orders"]
    assert [table.name for table in spark.catalog.listTables()] == ["orders"]
    assert spark.sql("SHOW CREATE TABLE orders").first()[0].startswith("CREATE TABLE `default`.`orders` (")
    unknown = options.replace("'topic'", "'topics'")
    error = failure(lambda: spark.sql(f"CREATE TABLE x (a INT) {unknown}"), UnknownOptionError)
    assert "'topics' (did you mean 'topic'?)" in str(error)


def infer_columns(spark: Any, options: str) -> None:
    """Read a table without columns, and the same topic with read_kafka."""
    spark.sql(f"CREATE TABLE inferred {options}")
    assert rows(spark.sql("SELECT sum(a) FROM inferred")) == [(6,)]
    spark.sql("DROP TABLE inferred")
    call = "read_kafka(" + re.sub(r"'([^']+)' = ", r"`\1` => ", options.removeprefix("WITH ("))
    assert rows(spark.sql(f"SELECT sum(a) FROM {call}")) == [(6,)]
    assert spark.sql(f"SELECT * FROM STREAM {call}").isStreaming
    assert [table.name for table in spark.catalog.listTables()] == ["orders"]


def report_undecodable_records(spark: Any, folder: str, options: str) -> None:
    """Raise the same error in batch queries and in a stream."""
    spark.sql(f"CREATE TABLE wrong (a DATE) {options}")
    writer = spark.readStream.table("wrong").writeStream.format("noop")
    query = writer.option("checkpointLocation", f"{folder}/wrong").start()
    for action in (spark.table("wrong").collect, spark.table("wrong").toPandas, lambda: query.awaitTermination(60)):
        error: Any = failure(action, DecodeError)
        assert isinstance(error, PySparkException), repr(error)
        assert (error.field, error.__cause__ is None) == ("a", False)
        assert str(error).startswith("[DECODE] "), error
    assert isinstance(query.exception(), DecodeError)
    spark.sql("DROP TABLE wrong")


def run_jobs(spark: Any, folder: str, sink: str) -> None:
    """Run continuous queries, and reject those that are not supported over Spark Connect."""
    spark.sql(f"CREATE TABLE sink (a INT, b INT) {sink}")
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    spark.sql(f"SET 'execution.checkpointing.dir' = '{folder}'")
    query = spark.streams.get(spark.sql("INSERT INTO sink SELECT a, b FROM orders").first()[0])
    query.processAllAvailable()
    query.stop()
    upsert = sink.replace("= 'kafka'", "= 'upsert-kafka'", 1)
    upsert = upsert.replace("'format'", "'key.format' = 'json', 'value.format'")
    upsert = upsert.replace("'scan.startup.mode' = 'earliest-offset', ", "")
    spark.sql(f"CREATE TABLE counts (a INT, n BIGINT, PRIMARY KEY (a) NOT ENFORCED) {upsert}")
    start_and_stop(spark, INSERT)
    error = failure(lambda: spark.sql(f"{INSERT} WHERE n < 3"), UnsupportedSqlError)
    assert "a filter (HAVING or WHERE) over a streaming aggregate is not supported over Spark Connect" in str(error)
    spark.sql("DROP TABLE counts")
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    join = "INSERT INTO sink SELECT o.a, s.b FROM STREAM orders AS o JOIN sink AS s ON o.a = s.a"
    error = failure(lambda: spark.sql(join), UnsupportedSqlError)
    assert "table 'default.sink' cannot be joined as of each micro-batch over Spark Connect" in str(error)
    assert sorted(rows(spark.sql("SELECT * FROM sink"))) == [(1, 2), (2, 3), (3, 4)]


def start_and_stop(spark: Any, insert: str) -> None:
    """Start and stop a job. Spark waits ten seconds for a worker, which is too short on a busy machine: then retry."""
    for attempts_left in (2, 1, 0):
        try:
            spark.streams.get(spark.sql(insert).first()[0]).stop()
            break
        except PySparkException as e:
            if "connect back" not in str(e) or not attempts_left:
                raise


def write_dataframes(spark: Any) -> None:
    """Write a DataFrame to a Kafka table, which Spark's insertInto cannot find."""
    spark.sql("SELECT 4 AS a, 5 AS b").write.format("kafka.sink").mode("append").save()
    assert spark.table("sink").count() == 4
    error = failure(lambda: spark.table("sink").write.insertInto("sink"), AnalysisException)
    assert "sink" in str(error)


def use_another_session(spark: Any, options: str) -> None:
    """Read the topic in another session of the same client."""
    other: Any = kafka_sql.enable(spark.newSession())
    other.sql(f"CREATE TABLE theirs (a INT) {options}")
    assert rows(other.sql("SELECT count(*) FROM theirs")) == [(3,)]
    other.stop()


def rows(frame: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a DataFrame."""
    return [tuple(row) for row in frame.collect()]


def failure(action: Callable[[], object], error_class: type[Exception]) -> Exception:
    """Return the error that an action raises."""
    try:
        action()
    except error_class as e:
        return e
    raise AssertionError(f"no {error_class.__name__}")


if __name__ == "__main__":
    main(*sys.argv[1:])
