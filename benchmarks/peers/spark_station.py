"""A Spark session that takes requests: ``python -m benchmarks.peers.spark_station '{"cores": 2, ...}'``."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import kafka_sql
from benchmarks.station import MARK

Json = dict[str, Any]


def main() -> int:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Spark's own words go elsewhere
    settings = json.loads(sys.argv[1])

    def answer(what: object) -> None:
        print(MARK + json.dumps(what), file=answers, flush=True)

    spark = session(settings)
    station = SparkStation(spark)
    answer("ready")
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer(getattr(station, request.pop("do"))(**request))
        except Exception as e:  # noqa: BLE001  # said to the one who asked, whatever it is
            traceback.print_exc()
            answer({"error": str(e)[:2000]})
    spark.stop()
    return 0


def session(settings: Json) -> SparkSession:
    """A session with this project, or with Spark's own jars alone."""
    spark = (
        SparkSession.builder.master(f"local[{settings['cores']}]")
        .config("spark.jars", ",".join(settings["jars"]))
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", settings["folder"] + "/warehouse")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return kafka_sql.enable(spark) if settings["enabled"] else spark


class SparkStation:
    """What can be asked."""

    def __init__(self, spark: SparkSession) -> None:
        """Nothing has been asked yet."""
        self._spark = spark
        self._stream: Any = None
        self._latencies: list[float] = []
        self._lock = threading.Lock()

    def sql(self, text: str) -> Json:
        """Run a statement; its rows, as texts."""
        began = time.perf_counter()
        rows = self._spark.sql(text).collect()
        return {"seconds": time.perf_counter() - began, "rows": [[str(v) for v in row] for row in rows]}

    def sink(self, text: str, bootstrap: str, topic: str) -> Json:
        """Write a query's rows by Spark's own sink."""
        began = time.perf_counter()
        writer = self._spark.sql(text).write.format("kafka").option("kafka.bootstrap.servers", bootstrap)
        writer.option("topic", topic).save()
        return {"seconds": time.perf_counter() - began}

    def follow(self, table: str | None, options: Json, checkpoint: str) -> str:
        """Start a query over a topic whose values are the seconds at which they were sent."""
        source = self._spark.readStream
        rows = source.table(table) if table is not None else source.format("kafka").options(**options).load()

        def look(batch: DataFrame, _: int) -> None:
            sent = batch.selectExpr("CAST(CAST(value AS STRING) AS DOUBLE) AS sent").toArrow().column(0).to_numpy()
            now = time.time()
            with self._lock:
                self._latencies += (now - sent).tolist()

        writer = rows.writeStream.foreachBatch(look).option("checkpointLocation", checkpoint)
        self._stream = writer.trigger(processingTime="0 seconds").start()
        return "started"

    def seen(self) -> int:
        """How many records the query has had; from the next one on they are new ones."""
        if not self._stream.isActive:
            raise RuntimeError(f"the query has ended: {self._stream.exception()}")
        with self._lock:
            count = len(self._latencies)
            self._latencies = []
        return count

    def latencies(self, count: int) -> Json:
        """Wait for so many records and end the query; seconds."""
        deadline = time.monotonic() + 60
        while len(self._latencies) < count and time.monotonic() < deadline:
            time.sleep(0.05)
        self._stream.stop()
        found, self._latencies = sorted(self._latencies), []
        if len(found) < count:
            raise RuntimeError(f"{len(found)} records of {count} came within a minute")
        return {"p50": found[len(found) // 2], "p99": found[len(found) * 99 // 100]}


if __name__ == "__main__":
    sys.exit(main())
