"""A computed column follows the time zone of the session that runs a query; other settings do not change it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

import kafka_sql
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import InvalidOptionError, KafkaSqlError
from kafka_sql.runtime.task import SESSION_TIME_ZONE
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.table.table import Table
from tests.topics import Topics

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
EXAMPLES = [
    *(ROOT / "ddl_examples").rglob("*.sql"),
    *(ROOT / "tests/sql/rows").glob("*.sql"),
    *(ROOT / "tests/sql/ddl/good").glob("*.sql"),
]
STATEMENT_END = re.compile(r";[ \t]*\n")
# the other value of each setting that could change how an expression is read or evaluated
OTHER_SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "true",
    "spark.sql.legacy.negativeIndexInArrayInsert": "true",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.storeAssignmentPolicy": "LEGACY",
    "spark.sql.timeType.enabled": "false",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}
NOON = 1704110400000  # milliseconds, 2024-01-01 12:00:00 UTC


@pytest.fixture
def noon(topics: Topics) -> str:
    topic = topics.create()
    topics.produce(topic, b'{"id": 1, "ts": "2024-01-01 12:00:00Z"}', timestamp=NOON)
    return topic


def test_computed_columns_follow_the_time_zone_of_the_query(
    spark: Any, sql: Any, streaming: Any, topics: Topics, noon: str
) -> None:
    columns = """id INT, ts TIMESTAMP_LTZ(3), m TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL,
      hh AS DATE_FORMAT(ts, 'HH:mm'), h AS EXTRACT(HOUR FROM ts), local AS CAST(ts AS TIMESTAMP(3))"""
    streaming("SET 'execution.runtime-mode' = 'batch'")
    sql("SET 'table.local-time-zone' = 'UTC'")
    sql(f"CREATE TABLE w ({columns}) {topics.with_options(noon)}")
    sql(f"CREATE TEMPORARY TABLE tw ({columns}) {topics.with_options(noon)}")
    sql("CREATE VIEW v AS SELECT *, date_format(ts, 'HH:mm') AS own FROM w")
    sql("CREATE VIEW vv AS SELECT * FROM v")
    sql("CREATE TEMPORARY VIEW tv AS SELECT * FROM w")
    read = "CAST(m AS STRING), hh, h, CAST(local AS STRING) FROM"
    queries = [f"SELECT '{name}', {read} {name}" for name in ("w", "tw", "v", "vv", "tv")]
    queries.append(f"SELECT 'hint', {read} w /*+ OPTIONS('scan.parallelism' = '1') */")

    sql("SET 'table.local-time-zone' = 'Asia/Tokyo'")
    local = ("2024-01-01 21:00:00", "21:00", 21, "2024-01-01 21:00:00")
    assert {tuple(row)[1:] for row in sql(" UNION ALL ".join(queries)).collect()} == {local}
    assert spark.table("w").select("hh").collect() == [("21:00",)]
    # the expressions of a view keep the time zone of CREATE VIEW, as in all views of Spark
    assert sql("SELECT own FROM v").collect() == [("12:00",)]

    written = topics.create()
    sql(f"CREATE TABLE texts (hh STRING, local STRING, m STRING) {topics.with_options(written)}")
    sql("SET 'execution.runtime-mode' = 'streaming'")
    query = sql("INSERT INTO texts SELECT hh, CAST(local AS STRING), CAST(m AS STRING) FROM w")
    assert query is not None
    (message,) = topics.consume(written, 1)
    assert json.loads(message.value() or b"") == {"hh": "21:00", "local": local[3], "m": local[0]}
    sql("SET 'execution.runtime-mode' = 'batch'")

    other = kafka_sql.enable(spark.newSession())
    other.conf.set(SESSION_TIME_ZONE, "America/New_York")
    assert other.sql("SELECT hh, h FROM w").collect() == [("07:00", 7)]
    sql("DROP VIEW vv")
    sql("DROP VIEW v")


def test_threads_and_rdds_have_the_time_zone(spark: Any, sql: Any, topics: Topics, noon: str) -> None:
    """Spark passes to tasks only settings that were set, and none to the tasks of an RDD."""
    columns = "id INT, t TIMESTAMP(3) METADATA FROM 'timestamp'"
    results: dict[str, Any] = {}

    def run() -> None:
        session = kafka_sql.enable(spark.newSession())
        session.conf.unset(SESSION_TIME_ZONE)
        session.sql(f"CREATE TABLE a1 ({columns}) {topics.with_options(noon)}")
        session.sql("INSERT INTO a1 SELECT 2, t FROM a1")
        session.conf.unset(SESSION_TIME_ZONE)
        results["default"] = session.sql("SELECT t FROM a1").collect()
        session.conf.set(SESSION_TIME_ZONE, "Asia/Tokyo")
        results["RDD"] = session.sql("SELECT t FROM a1").repartition(2).rdd.collect()
        results["iterator"] = list(session.sql("SELECT t FROM a1").toLocalIterator())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    default = ZoneInfo(spark._jvm.java.util.TimeZone.getDefault().getID())
    for name, zone in {"default": default, "RDD": ZoneInfo("Asia/Tokyo"), "iterator": ZoneInfo("Asia/Tokyo")}.items():
        assert results[name] == [(datetime.fromtimestamp(NOON / 1000, zone).replace(tzinfo=None),)] * 2, name


def computed_columns_of_examples() -> Iterator[Table]:
    """Yield the tables of all SQL files that have computed columns."""
    for path in EXAMPLES:
        for statement in STATEMENT_END.split(path.read_text(encoding="utf-8") + "\n"):
            try:
                table = parse_create(statement.replace("${kafka}", "'connector' = 'kafka'").strip().removesuffix(";"))
            except KafkaSqlError:  # another statement, or one that is rejected
                continue
            if table.computed_columns:
                yield table


def sample_value(type: DataType) -> str:
    """Return a value of a type as SQL."""
    match type:
        case ArrayType():
            return f"array({sample_value(type.elementType)})"
        case MapType():
            return f"map({sample_value(type.keyType)}, {sample_value(type.valueType)})"
        case StructType():
            fields = [f"'{field.name}', {sample_value(field.dataType)}" for field in type]
            return f"named_struct({', '.join(fields)})"
    samples = {"string": "'2024-01-01 12:34:56'", "boolean": "TRUE", "binary": "X'61'", "date": "DATE '2024-01-01'"}
    times = {"timestamp": "timestamp_seconds(1704110400)", "timestamp_ntz": "TIMESTAMP_NTZ '2024-01-01 12:00:00'"}
    return f"CAST({({**samples, **times}).get(type.typeName(), '7.25')} AS {type.simpleString()})"


@pytest.mark.long
def test_settings_do_not_change_the_computed_columns_of_examples(spark: Any) -> None:
    """A table's view keeps the settings of CREATE TABLE; a stream evaluates the same text in the session."""
    session = spark.newSession()
    session.conf.set(SESSION_TIME_ZONE, "UTC")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    texts: dict[str, str] = {}  # of a query of the source's row -> the row
    for table in computed_columns_of_examples():
        columns = [c for c in table.computed_columns if "current_timestamp" not in (c.expression or "")]
        if columns:
            types = StructType.fromDDL(", ".join(f"{quote(c.name)} {c.type}" for c in table.source_columns))
            row = ", ".join(f"{sample_value(field.dataType)} AS {quote(field.name)}" for field in types)
            texts[", ".join(f"{c.expression} AS {quote(c.name)}" for c in columns)] = row
    streams, views = [], []
    for n, (columns_sql, row) in enumerate(texts.items()):
        session.sql(f"CREATE TEMPORARY VIEW source_{n} AS SELECT {row}")
        session.sql(f"CREATE TEMPORARY VIEW view_{n} AS SELECT {columns_sql} FROM source_{n}")
        names = ", ".join(f"CAST({quote(name)} AS STRING)" for name in session.table(f"view_{n}").columns)
        streams.append(f"SELECT {n} AS n, array({names}) AS c FROM (SELECT {columns_sql} FROM source_{n})")
        views.append(f"SELECT {n} AS n, array({names}) AS c FROM view_{n}")
    assert len(texts) > 15
    stream, batch = " UNION ALL ".join(streams), " UNION ALL ".join(views)
    expected = session.sql(stream).collect()
    quoted = {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"}
    for settings in (OTHER_SETTINGS, quoted):
        for key, value in settings.items():
            session.conf.set(key, value)
        assert session.sql(batch).collect() == session.sql(stream).collect() == expected, settings
    session.conf.set(SESSION_TIME_ZONE, "America/New_York")
    assert session.sql(batch).collect() == session.sql(stream).collect()


def test_settings_that_would_change_computed_columns_are_rejected(spark: Any, sql: Any, topics: Topics) -> None:
    keys = (
        "spark.sql.parser.quotedRegexColumnNames",
        "spark.sql.ansi.enforceReservedKeywords",
        "spark.sql.variant.allowDuplicateKeys",
    )
    for key in keys:
        spark.conf.set(key, "true")
        try:
            with pytest.raises(InvalidOptionError, match=f"computed columns need {key} = false"):
                sql(f"CREATE TABLE t (a INT, b AS a + 1) {topics.with_options('none')}")
        finally:
            spark.conf.unset(key)


def test_sparks_expressions_have_the_settings_of_create_table(spark: Any, sql: Any, topics: Topics, noon: str) -> None:
    """As in Spark's views; a stream, which would have those of its session, is rejected if they differ."""
    options = topics.with_options(noon, **{"computed-columns.fallback": "spark"})
    declaration = f"TABLE w (ts TIMESTAMP_LTZ(3), h AS hour(ts) + length(hex(1))) {options}"
    sql("SET 'table.local-time-zone' = 'UTC'")
    sql(f"CREATE {declaration}")
    spark.readStream.table("w")
    sql("SET 'table.local-time-zone' = 'Asia/Tokyo'")
    with pytest.raises(InvalidOptionError, match=r"settings of CREATE TABLE, spark.sql.session.timeZone = UTC, but"):
        spark.readStream.table("w")
    with pytest.raises(InvalidOptionError, match="the session has Asia/Tokyo"):
        sql("SELECT h FROM w /*+ OPTIONS('scan.parallelism' = '1') */")
    sql(f"CREATE OR REPLACE {declaration}")
    spark.readStream.table("w")
