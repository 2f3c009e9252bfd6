"""Measure real-time mode end to end, beside Spark's own source and sink: ``python -m benchmarks.real_time``.

Both read JSON, filter it and write JSON, in one session with four cores. The latency is the time from producing a
record until its copy is consumed from the result topic.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

import kafka_sql
from kafka_sql.embedded import EmbeddedKafka

_RATES: Final = (20, 2000)  # records per second
_WARM_UP: Final = 15  # seconds
_SECONDS: Final = 20
_TIMEOUT: Final = 30.0  # seconds
_PAUSE: Final = 0.002  # seconds between two iterations of the sender

Start = Callable[[SparkSession, str, str, str, str], Any]  # bootstrap servers, source, target and checkpoint folder


def main() -> None:
    """Print the latencies of both."""
    builder = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false")
    spark = kafka_sql.enable(builder.config("spark.ui.showConsoleProgress", "false").getOrCreate())
    spark.sparkContext.setLogLevel("OFF")
    starts: dict[str, Start] = {"kafka_sql": _start_kafka_sql, "Spark's own connector": _start_spark}
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for rate in _RATES:
            for name, start in starts.items():
                latencies = _measure(spark, kafka.bootstrap_servers, start, rate, folder)
                p50, p99 = (latencies[len(latencies) * q // 100] * 1000 for q in (50, 99))
                print(f"{rate:,} records/s, {name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms", flush=True)
    spark.stop()


def _start_kafka_sql(spark: SparkSession, servers: str, source: str, target: str, folder: str) -> Any:
    for topic in (source, target):
        spark.sql(
            f"CREATE TABLE {topic} (id BIGINT, sent DOUBLE, name STRING) WITH ('connector' = 'kafka', "
            f"'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}', "
            "'scan.startup.mode' = 'earliest-offset', 'format' = 'json')"
        )
    settings = {"runtime-mode": "streaming", "latency-mode": "real-time", "checkpointing.dir": folder}
    for key, value in settings.items():
        spark.sql(f"SET 'execution.{key}' = '{value}'")
    spark.sql(f"SET 'pipeline.name' = '{source}'")
    (row,) = spark.sql(f"INSERT INTO {target} SELECT id, sent, name FROM {source} WHERE id >= 0").collect()
    return spark.streams.get(row[0])


def _start_spark(spark: SparkSession, servers: str, source: str, target: str, folder: str) -> Any:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", source)
    records = reader.option("startingOffsets", "earliest").load()
    rows = records.selectExpr("from_json(CAST(value AS STRING), 'id BIGINT, sent DOUBLE, name STRING') AS row")
    rows = rows.select("row.*").where("id >= 0").selectExpr("to_json(struct(*)) AS value")
    writer: Any = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", target)
    writer = writer.option("checkpointLocation", f"{folder}/{source}").outputMode("update")
    return writer.trigger(realTime="5 minutes").start()


def _measure(spark: SparkSession, servers: str, start: Start, rate: int, folder: str) -> list[float]:
    """Return the sorted latencies in seconds."""
    source, target = (f"{name}_{uuid.uuid4().hex[:8]}" for name in ("source", "target"))
    topics = [NewTopic(name, 2, 1) for name in (source, target)]
    admin = AdminClient({"bootstrap.servers": servers})  # closed with its last reference
    for created in admin.create_topics(topics).values():
        created.result()
    query = start(spark, servers, source, target, folder)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    consumer = Consumer({"bootstrap.servers": servers, "group.id": target, "auto.offset.reset": "earliest"})
    consumer.subscribe([target])
    latencies: list[float] = []
    stopped = threading.Event()
    receiver = threading.Thread(target=_receive, args=(consumer, latencies, stopped))
    receiver.start()
    try:
        _await(latencies, _send(producer, source, rate, _WARM_UP))
        latencies.clear()
        _await(latencies, _send(producer, source, rate, _SECONDS))
    finally:
        stopped.set()
        receiver.join()
        consumer.close()
        query.stop()
    return sorted(latencies)


def _send(producer: Producer, topic: str, rate: int, seconds: float) -> int:
    started, sent = time.time(), 0
    while (now := time.time()) < started + seconds:
        while sent < (now - started) * rate:
            record = {"id": sent, "sent": time.time(), "name": "x"}
            producer.produce(topic, json.dumps(record).encode())
            sent += 1
        producer.poll(0)
        time.sleep(max(_PAUSE, 1 / rate))
    producer.flush()
    return sent


def _receive(consumer: Consumer, latencies: list[float], stopped: threading.Event) -> None:
    while not stopped.is_set():
        message = consumer.poll(0.1)  # consume(n, timeout) would wait for n messages or the timeout
        if message is not None and message.error() is None:
            latencies.append(time.time() - json.loads(message.value() or b"{}")["sent"])


def _await(latencies: list[float], count: int) -> None:
    deadline = time.monotonic() + _TIMEOUT
    while len(latencies) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(latencies)} of {count} records arrived")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
