"""Run a streaming INSERT in real-time mode until it is killed: ``python -m tests.real_time_driver FOLDER``.

The folder has the file ``statements.json``. The driver creates ``started`` when the query runs. When ``stop`` exists,
it saves what Spark shows of the query, and ends. Spark writes its event log to the folder.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import urllib.request
from pathlib import Path

from pyspark.sql import SparkSession

import kafka_sql

UNCOMPRESSED = ("spark.eventLog.compress", "spark.broadcast.compress", "spark.shuffle.compress", "spark.rdd.compress")
PAGES = ("/jobs/", "/stages/", "/environment/", "/SQL/", "/SQL/execution/?id=0", "/StreamingQuery/")
RESOURCES = ("jobs", "stages?details=true", "environment", "sql?details=true&planDescription=true")


def main(folder: Path) -> None:
    """Run the statements."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    builder = SparkSession.builder.master("local[4]").config("spark.ui.port", "0")
    builder = builder.config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", f"file:{folder}/events")
    builder = builder.config("spark.sql.planChangeLog.level", "warn").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.streaming.realTimeMode.minBatchDuration", "1000")
    for key in UNCOMPRESSED:
        builder = builder.config(key, "false")
    (folder / "events").mkdir(exist_ok=True)
    spark = kafka_sql.enable(builder.getOrCreate())
    for statement in json.loads((folder / "statements.json").read_text()):
        rows = spark.sql(statement).collect()
    query = spark.streams.get(rows[0][0])
    (folder / "started").touch()
    while query is not None and query.isActive and not (folder / "stop").exists():
        time.sleep(0.1)
    if query is None or not query.isActive:
        sys.exit(f"the query has ended: {query and query.exception()}")
    url = spark.sparkContext.uiWebUrl
    api = f"{url}/api/v1/applications/{spark.sparkContext.applicationId}"
    addresses = [*(f"{url}{page}" for page in PAGES), *(f"{api}/{resource}" for resource in RESOURCES)]
    texts = [urllib.request.urlopen(address).read().decode() for address in addresses]
    java_query = query._jsq.streamingQuery()
    texts += [str(java_query.lastExecution()), str(java_query), str(query.lastProgress), str(query.status)]
    (folder / "pages").write_text("\n".join(texts))
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
