"""Compare each format with Spark's functions: from_json and to_json, from_csv and to_csv, from_avro and to_avro.

``python -m benchmarks.functions``. Runs without Kafka. Spark has the payloads (or rows) cached in memory and converts
them in one thread (``local[1]``) to its noop sink; the time for the cached column alone is subtracted. The formats of
this project read and write the same records as Arrow buffers, as a task does. The wall-clock times are the minimum of
all alternating rounds. Further processing of rows in Spark, and the transfer of Arrow batches to Spark, are not
included; `make bench` measures whole queries.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pyspark
from pyspark.sql import DataFrame, SparkSession

from benchmarks.formats import SCHEMA, codec_of, rows
from benchmarks.orders import COLUMNS
from kafka_sql.embedded.jars import kafka_jars
from kafka_sql.embedded.java import find_java
from kafka_sql.formats.avro.schema_from_table import derive_schema

FUNCTIONS = {
    "json": (f"from_json(CAST(payload AS STRING), '{COLUMNS}')", "to_json(struct(*))"),
    "csv": (f"from_csv(CAST(payload AS STRING), '{COLUMNS}')", "to_csv(struct(*))"),
    "avro": (
        f"from_avro(payload, '{derive_schema(SCHEMA, legacy=True)}')",
        f"to_avro(struct(*), '{derive_schema(SCHEMA, True)}')",
    ),
}


def main() -> int:
    """Measure, and print two lines per format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    batch = rows(arguments.records)
    jars = kafka_jars(find_java(), Path(__file__).parent / "peers" / "spark.lock")
    with tempfile.TemporaryDirectory() as folder:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.jars", ",".join(map(str, jars)))
            .config("spark.driver.memory", "3g")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        print(f"Spark {pyspark.__version__}, Python {platform.python_version()}, {arguments.records:,} records of 9")
        print("fields; microseconds per record:")
        table = cache(spark, folder, "rows", pa.table(batch))
        for name, (read, write) in FUNCTIONS.items():
            decoder, encoder = codec_of(name)
            payloads = encoder.encode(batch)
            if not all(a.equals(b) for a, b in zip(decoder.decode(payloads).columns, batch.columns, strict=True)):
                sys.exit("FAILED: the decoded rows differ from the encoded rows")
            texts = cache(spark, folder, name, pa.table({"payload": payloads}))
            first = texts.selectExpr(f"{read} AS r").selectExpr("r.*").orderBy("order_id").first()
            if first is None or first.asDict() != batch.slice(0, 1).to_pylist()[0]:
                sys.exit(f"FAILED: Spark reads {first}")
            measure_and_print(f"{name} read", lambda d=decoder, p=payloads: d.decode(p), texts, read, arguments)
            measure_and_print(f"{name} write", lambda e=encoder: e.encode(batch), table, write, arguments)
        spark.stop()
    return 0


def cache(spark: SparkSession, folder: str, name: str, columns: pa.Table) -> DataFrame:
    """Return columns that are cached in Spark, in one partition."""
    path = f"{folder}/{name}.parquet"
    parquet.write_table(columns, path)
    frame = spark.read.parquet(path).coalesce(1).cache()
    frame.count()
    return frame


def measure_and_print(
    name: str, run_ours: Callable[[], object], frame: DataFrame, function: str, arguments: argparse.Namespace
) -> None:
    """Measure both, and print a line."""
    converted = frame.selectExpr(f"{function} AS r")
    measured: list[list[float]] = [[], [], []]
    runs = (run_ours, lambda: discard(converted), lambda: discard(frame))
    for _ in range(arguments.rounds + 1):
        for run, times in zip(runs, measured, strict=True):
            started = time.perf_counter()
            run()
            times.append(time.perf_counter() - started)
    ours, total, overhead = (min(times[1:]) * 1e6 / arguments.records for times in measured)
    theirs = total - overhead
    print(f"  {name:<12} {ours:6.3f}   {function.split('(')[0]:<10} {theirs:6.3f}   {ours / theirs:.2f} of its time")


def discard(frame: DataFrame) -> None:
    """Write all rows to the noop sink."""
    frame.write.format("noop").mode("overwrite").save()


if __name__ == "__main__":
    sys.exit(main())
