"""Process requests with a Spark session: ``python -m benchmarks.peers.spark_peer '{"cores": 2, ...}'``."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import kafka_sql
from benchmarks.peers.serving import serve

Json = dict[str, Any]


def main() -> int:
    """Process requests until the input ends."""
    settings = json.loads(sys.argv[1])
    serve(lambda: RequestHandler(create_session(settings))).stop_session()
    return 0


def create_session(settings: Json) -> SparkSession:
    """Return a session with the jars in the settings, and with kafka_sql if the settings enable it."""
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


class RequestHandler:
    """Processes requests; each public method is one."""

    def __init__(self, spark: SparkSession) -> None:
        """Start without a streaming query."""
        self._spark = spark
        self._query: Any = None
        self._latencies: list[float] = []
        self._lock = threading.Lock()

    def stop_session(self) -> None:
        """Stop Spark."""
        self._spark.stop()

    def sql(self, text: str) -> Json:
        """Run a statement and return its rows as strings."""
        started = time.perf_counter()
        rows = self._spark.sql(text).collect()
        return {"seconds": time.perf_counter() - started, "rows": [[str(v) for v in row] for row in rows]}

    def insert_stream(self, text: str, checkpoints: str) -> Json:
        """Run a streaming INSERT over bounded tables until it ends; return also the time of each micro-batch."""
        self._spark.sql("SET 'execution.runtime-mode' = 'streaming'")
        self._spark.sql(f"SET 'execution.checkpointing.dir' = '{checkpoints}'")
        started = time.perf_counter()
        try:
            (row,) = self._spark.sql(text).collect()
            query: Any = self._spark.streams.get(row[0])
            query.awaitTermination()
        finally:
            self._spark.sql("SET 'execution.runtime-mode' = 'batch'")
        seconds = time.perf_counter() - started
        # of the last 100 micro-batches, in milliseconds
        batches = [p["durationMs"]["triggerExecution"] for p in query.recentProgress if p["numInputRows"]]
        return {"seconds": seconds, "batches": batches}

    def write(self, text: str, bootstrap: str, topic: str, compression: str) -> Json:
        """Write the rows of a query with Spark's own sink."""
        started = time.perf_counter()
        writer = self._spark.sql(text).write.format("kafka").option("kafka.bootstrap.servers", bootstrap)
        writer.option("kafka.compression.type", compression).option("topic", topic).save()
        return {"seconds": time.perf_counter() - started}

    def drain_stream(self, query: str, columns: str, source: str, target: str, bootstrap: str, checkpoint: str) -> Json:
        """Read what is in a topic of JSON rows as a stream with Spark's own source, and write a query's rows as JSON.

        Args:
            query: over the temporary views ``<source>`` and ``<source>_timed``; the second one has a watermark.
        """
        spark, started = self._spark, time.perf_counter()
        rows = self._read_json(source, columns, bootstrap)
        rows.createOrReplaceTempView(source)
        timed = rows.selectExpr("*", "timestamp_millis(ts) AS event_time").withWatermark("event_time", "5 seconds")
        timed.createOrReplaceTempView(f"{source}_timed")
        writer = spark.sql(query).selectExpr("to_json(struct(*)) AS value").writeStream.format("kafka")
        writer = writer.option("kafka.bootstrap.servers", bootstrap).option("topic", target)
        writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        writer.start().awaitTermination()
        return {"seconds": time.perf_counter() - started}

    def _read_json(self, topic: str, columns: str, bootstrap: str) -> DataFrame:
        """Return a stream of a topic's JSON rows, from its start."""
        options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
        records = self._spark.readStream.format("kafka").options(**options).load()
        return records.selectExpr(f"from_json(CAST(value AS STRING), '{columns}') AS r").select("r.*")

    def start_insert(self, text: str, settings: Json) -> str:
        """Start a streaming INSERT with these settings of the session."""
        for key, value in settings.items():
            self._spark.sql(f"SET '{key}' = '{value}'")
        (row,) = self._spark.sql(text).collect()
        self._query = self._spark.streams.get(row[0])
        return "started"

    def start_copy(
        self, columns: str, condition: str, source: str, target: str, bootstrap: str, checkpoint: str, real_time: bool
    ) -> str:
        """Start a query that copies JSON rows to another topic with Spark's own source and sink.

        Args:
            columns: names and types.
            condition: the rows to copy.
            source, target: topics.
            bootstrap: bootstrap servers.
            checkpoint: the checkpoint location.
            real_time: whether to use real-time mode; else micro-batches.
        """
        rows = self._read_json(source, columns, bootstrap)
        values = rows.where(condition).selectExpr("to_json(struct(*)) AS value")
        writer: Any = values.writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
        writer = writer.option("topic", target).option("checkpointLocation", checkpoint).outputMode("update")
        trigger = {"realTime": "5 minutes"} if real_time else {"processingTime": "0 seconds"}
        self._query = writer.trigger(**trigger).start()
        return "started"

    def stop_query(self) -> str:
        """Stop the query that was started last; fails if it has already stopped."""
        if not self._query.isActive:
            raise RuntimeError(f"the query has stopped: {self._query.exception()}")
        self._query.stop()
        return "stopped"

    def start_stream(self, table: str | None, options: Json, checkpoint: str) -> str:
        """Start a streaming query over a topic whose values are the send times in seconds.

        Args:
            table: a table of this project, or None to use Spark's own source.
            options: options of Spark's own source.
            checkpoint: the checkpoint location.
        """
        reader = self._spark.readStream
        rows = reader.table(table) if table is not None else reader.format("kafka").options(**options).load()

        def record_latencies(batch: DataFrame, _: int) -> None:
            send_times = batch.selectExpr("CAST(CAST(value AS STRING) AS DOUBLE)").toArrow().column(0).to_numpy()
            now = time.time()
            with self._lock:
                self._latencies += (now - send_times).tolist()

        writer = rows.writeStream.foreachBatch(record_latencies).option("checkpointLocation", checkpoint)
        self._query = writer.trigger(processingTime="0 seconds").start()
        return "started"

    def count_received(self) -> int:
        """Return the number of records received since the last call, and discard their latencies."""
        if not self._query.isActive:
            raise RuntimeError(f"the query has stopped: {self._query.exception()}")
        with self._lock:
            count = len(self._latencies)
            self._latencies = []
        return count

    def stop_stream(self, count: int) -> Json:
        """Wait until ``count`` records are received, stop the query, and return latency quantiles in seconds."""
        deadline = time.monotonic() + 60
        while len(self._latencies) < count and time.monotonic() < deadline:
            time.sleep(0.05)
        self._query.stop()
        latencies, self._latencies = sorted(self._latencies), []
        if len(latencies) < count:
            raise RuntimeError(f"{len(latencies)} of {count} records arrived within a minute")
        return {"p50": latencies[len(latencies) // 2], "p99": latencies[len(latencies) * 99 // 100]}


if __name__ == "__main__":
    sys.exit(main())
