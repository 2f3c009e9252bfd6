"""Run continuous queries over a changelog on executors that are processes of their own, and print what they wrote.

As a program, with PySpark 4.1: ``python -m tests.changelog_cluster delta BOOTSTRAP_SERVERS FOLDER CDC UPSERTS``. The
records of the two topics are those of ``tests.changelog_histories``. A second run resumes from the checkpoints.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from pyspark.sql import SparkSession

from tests.changelog_histories import COLUMNS
from tests.lakehouse import create_session
from tests.lakehouse_targets import declare_key
from tests.topics import Topics

_MASTER: Final = "local-cluster[2,1,1024]"
_KEY: Final = "PRIMARY KEY (h, k) NOT ENFORCED"
_GROUPS: Final = "h INT, g INT, n BIGINT, s DECIMAL(20, 2), low DECIMAL(10, 2), high DECIMAL(10, 2), d BIGINT"
_VALUES: Final = "SELECT h, g, count(*), sum(v), min(v), max(v), count(DISTINCT k % 3) FROM {} GROUP BY h, g"
_QUERIES: Final = {
    "linear": "SELECT h, g, count(*), sum(v) FROM cdc GROUP BY h, g",  # Spark's own aggregate
    "grouped": _VALUES.format("cdc"),  # GroupAggregate
    "normalized": _VALUES.format("upserts"),  # ChangelogNormalize, GroupAggregate
    "merged": "SELECT concat(h, '-', k), h, k, g, v FROM cdc",  # MERGE
    "merged_groups": _VALUES.format("upserts"),
}


def main(lakehouse: str, bootstrap: str, folder: str, cdc: str, upserts: str) -> None:
    """Run all queries until they have read the topics."""
    spark = create_session(lakehouse, folder, _MASTER)
    context: Any = spark.sparkContext
    context.setLogLevel("OFF")
    executors = len(list(context._jsc.sc().statusTracker().getExecutorInfos())) - 1  # one is the driver
    create_tables(spark, lakehouse, Topics(bootstrap), folder, cdc, upserts)
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    spark.sql(f"SET 'execution.checkpointing.dir' = '{folder}/checkpoints'")
    inserts = "; ".join(f"INSERT INTO {name} {query}" for name, query in _QUERIES.items())
    for job in spark.sql(f"EXECUTE STATEMENT SET BEGIN {inserts}; END").collect():
        query: Any = spark.streams.get(job[0])
        query.processAllAvailable()
        query.stop()
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    rows = {name: [[*map(as_json, row)] for row in spark.sql(f"SELECT * FROM {name}").collect()] for name in _QUERIES}
    print(json.dumps({"executors": executors, "rows": rows}))
    spark.stop()


def create_tables(spark: SparkSession, lakehouse: str, topics: Topics, folder: str, cdc: str, upserts: str) -> None:
    """Declare the topics' tables, and create those of the lakehouse unless an earlier run did."""
    spark.sql(f"CREATE TABLE cdc ({COLUMNS}, {_KEY}) {topics.with_options(cdc, format='debezium-json')}")
    spark.sql(f"CREATE TABLE upserts ({COLUMNS}, {_KEY}) {topics.with_upsert_options(upserts)}")
    for name in ("linear", "grouped", "normalized"):
        columns = "h INT, g INT, n BIGINT, s DECIMAL(20, 2)" if name == "linear" else _GROUPS
        table = topics.with_upsert_options(f"{cdc}-{name}")
        spark.sql(f"CREATE TABLE {name} ({columns}, {_KEY.replace('k)', 'g)')}) {table}")
    merged = {
        "merged": f"(id STRING NOT NULL, {COLUMNS}) USING {lakehouse}{declare_key(lakehouse)}",
        "merged_groups": f"({_GROUPS}) USING {lakehouse} TBLPROPERTIES ('primary-key' = 'h, g')",
    }
    for name, declared in merged.items():
        # Iceberg's catalog of files keeps its tables; Delta's tables are found by their location
        location = "" if lakehouse == "iceberg" else f" LOCATION '{folder}/{name}'"
        spark.sql(f"CREATE TABLE IF NOT EXISTS {name} {declared}{location}")
    if lakehouse == "iceberg":
        spark.sql("ALTER TABLE merged SET IDENTIFIER FIELDS id")


def as_json(value: Any) -> Any:
    """Return a value of a row as JSON has it; a DECIMAL as text."""
    return value if value is None or isinstance(value, (int, str)) else str(value)


if __name__ == "__main__":
    main(*sys.argv[1:])
