"""Use functions of a session of Spark Connect in tables, and report lineage.

``python -m tests.connect_functions URL FOLDER OPTIONS SINK``

The arguments are those of ``tests.connect_statements``. The program prints ``passed`` at its end.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import kafka_sql
from tests.waiting import wait_until


def main(url: str, folder: str, options: str, sink: str) -> None:
    """Run all statements, and end the session."""
    events = Path(f"{folder}-events.jsonl")
    os.environ |= {
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(events),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
    }
    spark = kafka_sql.enable(SparkSession.builder.remote(url).getOrCreate())
    spark.udf.register("plus_ten", lambda x: x + 10, "int")
    spark.sql("CREATE TEMPORARY FUNCTION twice(x INT) RETURNS INT RETURN 2 * x")
    call_functions(spark, options)
    write(spark, folder, options, sink)
    expected = [("START", 0, 1), ("COMPLETE", 0, 1)] * 2
    expected += [("START", 1, 1), ("COMPLETE", 1, 1), ("START", 1, 1), ("ABORT", 1, 1)]
    wait_until(lambda: read_events(events) == expected, f"the events are {expected}")
    spark.stop()
    print("passed")


def call_functions(spark: Any, options: str) -> None:
    """Call functions of the session in permanent and temporary tables: to Spark, each is a temporary view."""
    columns = "a INT, b AS plus_ten(a), c AS twice(a), d AS named_struct('x', a)"
    columns += ", e AS plus_ten(CAST(PRINTF('%d', a) AS INT))"
    fallback = options.replace("WITH (", "WITH ('computed-columns.fallback' = 'spark', ")
    for kind in ("TABLE", "TEMPORARY TABLE"):
        spark.sql(f"CREATE {kind} orders ({columns}) {fallback}")
        spark.sql("INSERT INTO orders VALUES (1)")
        assert tuple(spark.sql("SELECT b, c, d.x, e FROM orders").first()) == (11, 2, 1, 11)
        spark.sql(f"DROP {kind} orders")


def write(spark: Any, folder: str, options: str, sink: str) -> None:
    """Write the result of a function in a batch and in a continuous query."""
    spark.sql(f"CREATE TABLE orders (a INT, b AS plus_ten(CAST(PRINTF('%d', a) AS INT))) {options}")
    spark.sql(f"CREATE TABLE sink (b INT) {sink}")
    spark.sql("INSERT INTO sink SELECT b FROM orders")
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    spark.sql(f"SET 'execution.checkpointing.dir' = '{folder}'")
    job = spark.sql("INSERT INTO sink SELECT b FROM orders").first()[0]
    spark.streams.get(job).processAllAvailable()
    spark.sql(f"STOP JOB '{job}'")
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    assert [tuple(row) for row in spark.sql("SELECT * FROM sink").collect()] == [(11,)] * 4


def read_events(path: Path) -> list[tuple[str, int, int]]:
    """Return the type of each event, and the number of its inputs and outputs."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [(event["eventType"], len(event["inputs"]), len(event["outputs"])) for event in events]


if __name__ == "__main__":
    main(*sys.argv[1:])
