"""Write the records, the content and the history of a changelog to tables of a lakehouse until the process is killed.

As a program, with PySpark 4.1: ``python -m tests.lakehouse_driver delta BOOTSTRAP_SERVERS FOLDER TOPIC [finish]``. With
``finish``, it ends when all is written, and prints the tables.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession

from tests.changelog_histories import COLUMNS
from tests.lakehouse import create_session
from tests.lakehouse_targets import declare_key
from tests.topics import Topics


def main(lakehouse: str, bootstrap: str, folder: str, topic: str, mode: str = "") -> None:
    """Start all queries; wait, or finish them and print what they wrote."""
    spark = create_session(lakehouse, folder)
    create_tables(spark, lakehouse, Topics(bootstrap), folder, topic)
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    spark.sql(f"SET 'execution.checkpointing.dir' = '{folder}/checkpoints'")
    jobs = spark.sql(
        """EXECUTE STATEMENT SET BEGIN
        INSERT INTO merged SELECT concat(h, '-', k) AS id, h, k, g, v FROM changes;
        INSERT INTO appended SELECT line FROM records;
        INSERT INTO history (h, k, g, v, __START_AT) SELECT h, k, g, v, timestamp_seconds(o) FROM changes;
        INSERT INTO joined SELECT concat(a.h, '-', a.k) AS id, a.h, a.k, b.g, b.v
          FROM changes AS a LEFT JOIN changes AS b ON a.h = b.h AND a.g = b.k;
        INSERT INTO sizes SELECT h, n, count(*) AS m
          FROM (SELECT h, g, count(*) AS n FROM changes GROUP BY h, g) GROUP BY h, n;
        END"""
    ).collect()
    print("started", flush=True)
    for job in jobs:
        query: Any = spark.streams.get(job[0])
        if mode == "finish":
            query.processAllAvailable()
            query.stop()
        else:
            query.awaitTermination()
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    merged = [[*row[:3], str(row[3])] for row in spark.sql("SELECT h, k, g, v FROM merged").collect()]
    joined = [[*row[:3], str(row[3])] for row in spark.sql("SELECT h, k, g, v FROM joined").collect()]
    sizes = [list(row) for row in spark.sql("SELECT h, n, m FROM sizes").collect()]
    appended = [row[0] for row in spark.sql("SELECT line FROM appended").collect()]
    times = "unix_seconds(__START_AT), unix_seconds(__END_AT)"
    history = [
        [*row[:3], str(row[3]), *row[4:]] for row in spark.sql(f"SELECT h, k, g, v, {times} FROM history").collect()
    ]
    contents = {"merged": merged, "appended": appended, "history": history, "joined": joined, "sizes": sizes}
    print(json.dumps(contents))


def create_tables(spark: SparkSession, lakehouse: str, topics: Topics, folder: str, topic: str) -> None:
    """Declare the topic's tables, and create those of the lakehouse unless an earlier process did."""
    options = topics.with_options(topic, format="debezium-json")
    offset = "o BIGINT METADATA FROM 'offset' VIRTUAL"  # as the time of a change: each has its own
    spark.sql(f"CREATE TABLE changes ({COLUMNS}, {offset}, PRIMARY KEY (h, k) NOT ENFORCED) {options}")
    spark.sql(f"CREATE TABLE records (line STRING) {topics.with_options(topic, format='raw')}")
    columns = {
        "merged": f"id STRING NOT NULL, {COLUMNS}",
        "appended": "line STRING",
        "history": f"{COLUMNS}, __START_AT TIMESTAMP, __END_AT TIMESTAMP",
        "joined": f"id STRING NOT NULL, {COLUMNS}",
        "sizes": "h INT NOT NULL, n BIGINT NOT NULL, m BIGINT",
    }
    history = " TBLPROPERTIES ('primary-key' = 'h, k', 'scd-type' = '2')"
    keyed = {"merged": "id", "joined": "id", "sizes": "h, n"}
    keys = {"appended": "", "history": history} | {name: declare_key(lakehouse, key) for name, key in keyed.items()}
    for name, declared in columns.items():
        # Iceberg's catalog of files keeps its tables; Delta's tables are found by their location
        location = "" if lakehouse == "iceberg" else f" LOCATION '{folder}/{name}'"
        spark.sql(f"CREATE TABLE IF NOT EXISTS {name} ({declared}) USING {lakehouse}{location}{keys[name]}")
    if lakehouse == "iceberg":
        for name, key in keyed.items():
            spark.sql(f"ALTER TABLE {name} SET IDENTIFIER FIELDS {key}")


if __name__ == "__main__":
    main(*sys.argv[1:])
