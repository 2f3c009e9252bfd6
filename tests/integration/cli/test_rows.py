"""The shell's rows: the text of spark-sql for every type, one line per row, with the settings of the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from kafka_sql.cli.engine import Classic
from kafka_sql.cli.runner import Runner
from kafka_sql.cli.screen import Screen
from tests.topics import Topics

pytestmark = pytest.mark.integration

EVERY_TYPE = """
SELECT 1Y, 2S, 3 AS a, 4L AS a, true, 1.0e10D, CAST('NaN' AS DOUBLE), CAST(1.5 AS FLOAT), 1.50BD,
  CAST(1E-10 AS DECIMAL(20, 10)), 'x', 'A' COLLATE UTF8_LCASE, 'null' COLLATE UTF8_LCASE, CAST('abc' AS CHAR(5)),
  X'616263', DATE'0001-01-01', DATE'9999-12-31', TIMESTAMP'0001-01-01 00:00:00.123456',
  TIMESTAMP'2020-01-01 00:00:00.5', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', INTERVAL '-1-2' YEAR TO MONTH,
  INTERVAL '1' YEAR, INTERVAL '1' DAY, INTERVAL '1 02:03:04.5' DAY TO SECOND, make_interval(1, 2, 3, 4, 5, 6, 7.5),
  parse_json('{"a": [1, null, "x"]}'), array(1, NULL), array('a', NULL, 'NULL'), array(X'4142'),
  map('b', struct(1, 'b' AS t), 'a', NULL), struct(NULL AS x, INTERVAL '1' DAY AS i, TIMESTAMP'2020-01-01' AS t),
  NULL, CAST(NULL AS INT), CAST(NULL AS STRING), CAST(NULL AS BINARY), CAST(NULL AS STRUCT<a INT>), array(), map(),
  '', X'', CAST(-0.0000001 AS DECIMAL(10, 8)), CAST(0 AS DECIMAL(38, 38)), CAST(1E10 AS DECIMAL(30, 10)),
  struct(1 AS a, 2 AS a), INTERVAL '-1 02:03:04.000001' DAY TO SECOND, INTERVAL '-5' MONTH, INTERVAL '90' MINUTE,
  INTERVAL '0' SECOND,
  map(array(1), struct(map(1, 'x' COLLATE UTF8_LCASE)), array(), NULL), array(CAST(1E-9 AS DECIMAL(12, 10)), NULL),
  array(INTERVAL '1' HOUR, NULL), array(true), struct(X'' AS `b.c`, DATE'2020-01-01' AS `d``e`), array(array(NULL))
"""


@pytest.fixture
def run(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> Callable[[str], tuple[str, str]]:
    """Return a function that runs a statement in the shell and returns its output and its messages."""
    runner = Runner(spark, Screen())

    def run(statement: str) -> tuple[str, str]:
        runner.run(statement)
        out, err = capsys.readouterr()
        return out, err

    return run


@pytest.mark.sample(1)
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_values_of_each_type_are_printed_as_in_spark_sql(spark: SparkSession, run: Any, ansi: str) -> None:
    run(f"SET spark.sql.ansi.enabled = {ansi}")
    plan = cast(Any, spark.sql(EVERY_TYPE))._jdf.queryExecution().executedPlan()
    jvm = cast(Any, spark)._jvm
    expected = jvm.org.apache.spark.sql.execution.HiveResult.hiveResultString(plan).mkString("\n")
    printed = run(EVERY_TYPE)[0]
    run("RESET spark.sql.ansi.enabled")
    assert printed.split("\t") == f"{expected}\n".split("\t")


def test_no_value_changes_rows_or_columns(run: Any) -> None:
    out, err = run(
        r"SELECT 1, X'4100', 'a\tb', 'c\nd\r', 'e\\f', '\u001b[31m', 'NULL', NULL, X'FF41', array('\n'), 'x' AS `a\tb`"
    )
    assert out == (r"1,A\x00,a\tb,c\nd\r,e\\f,\x1b[31m,\NULL,NULL,\xffA,[" + '"' + r"\n" + '"' + "],x\n").replace(
        ",", "\t"
    )
    assert err.endswith("Fetched 1 row(s)\n")


def test_texts_of_several_lines_are_one_row(spark: SparkSession, run: Any) -> None:
    out, err = run("EXPLAIN SELECT 1")
    assert out.startswith("== Physical Plan ==\n")
    assert err.endswith("Fetched 1 row(s)\n")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW described AS SELECT 1 AS id")
    assert run("DESCRIBE described")[0] == f"{'id':20}\t{'int':20}\t{'':20}\n"
    spark.catalog.dropTempView("described")


def test_values_are_printed_with_the_settings_of_the_session(spark: SparkSession, run: Any) -> None:
    run("SET TIME ZONE 'Asia/Tokyo'")
    try:
        for style, bytes in (("HEX", "00FF"), ("HEX_DISCRETE", "[00 FF]"), ("BASE64", "AP8"), ("UTF-8", r"\x00\xff")):
            run(f"SET spark.sql.binaryOutputStyle = {style}")
            assert run("SELECT X'00FF', TIMESTAMP_SECONDS(0)")[0] == f"{bytes}\t1970-01-01 09:00:00\n"
    finally:
        spark.conf.unset("spark.sql.binaryOutputStyle")
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_limit_reads_the_partitions_that_it_needs(spark: SparkSession) -> None:
    spark.sparkContext.setJobGroup("shell rows", "")
    try:
        assert list(Classic(spark).collect_rows(spark.range(0, 100, 1, 50).where("id >= 0").limit(1))) == [[["0"]]]
        tracker = spark.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("shell rows")]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        assert sum(stage.numTasks for stage in stages if stage) == 1
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", "")


def test_rows_are_read_with_the_settings_of_the_session(sql: Any, topics: Topics, run: Any) -> None:
    """A TIMESTAMP of Kafka's metadata depends on the time zone, also if the session sets none."""
    topic = topics.create()
    topics.produce(topic, b"a")
    run(
        f"CREATE TABLE timed (raw STRING, t TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL) "
        f"{topics.with_options(topic).replace('json', 'raw')}"
    )
    out, err = run("SELECT raw, CAST(t AS STRING) = CAST(CAST(t AS TIMESTAMP) AS STRING), t FROM timed")
    (row,) = sql("SELECT raw, t FROM timed").collect()
    assert out.startswith("a\ttrue\t" + row.t.isoformat(" ").rstrip("0").rstrip("."))
    assert err.endswith("Fetched 1 row(s)\n")
