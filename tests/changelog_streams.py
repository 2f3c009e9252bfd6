"""Run streams of changes from files, one file per micro-batch, without a broker."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka_sql import state
from tests.changelog_models import Change

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

COLUMNS: Final = "h BIGINT, k INT, n BIGINT, s STRING, m DECIMAL(12,2), d DOUBLE, a ARRAY<STRING>"
SCHEMA: Final = f"{COLUMNS}, __row_kind STRING, ord BIGINT"
_NAMES: Final = [column.split()[0] for column in COLUMNS.split(", ")]


def write_batches(spark: SparkSession, folder: Path, batches: Sequence[Sequence[Change]], first: int = 0) -> None:
    """Write each batch to a file. The changes are not in the order of their column ``ord``."""
    order = first * 1_000_000
    for number, changes in enumerate(batches, first):
        rows = []
        for previous, (kind, row) in zip([None, *(kind for kind, _ in changes)], changes, strict=False):
            order += previous != "-U"  # the halves of an update are one record
            rows.append((*(row[name] for name in _NAMES), kind, order))
        rows.reverse()
        part = folder / f"part-{number}"
        spark.createDataFrame(rows, SCHEMA).coalesce(1).write.parquet(str(part))
        (file,) = part.glob("*.parquet")
        file.rename(folder / f"{number:05}.parquet")
        os.utime(folder / f"{number:05}.parquet", (number, number))


def run(
    spark: SparkSession,
    folder: Path,
    transform: Callable[[DataFrame], DataFrame],
    checkpoint: Path,
    output: list[list[tuple[object, ...]]],
) -> StreamingQuery:
    """Process all files of a folder, and append the rows of each micro-batch to ``output``."""
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "*.parquet"))
    writer = transform(source).writeStream.foreachBatch(lambda rows, _: output.append([*map(tuple, rows.collect())]))
    with state.configure(spark):
        query = (
            writer.outputMode("update").option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        )
    query.awaitTermination()
    return query
