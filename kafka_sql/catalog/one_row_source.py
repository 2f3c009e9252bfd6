"""Define a stream of one row, with which a continuous query reads constant rows once, as Flink reads VALUES."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kafka_sql.runtime.workers import QuickAckMixin

NAME: Final = "kafka_sql_one_row"
_SCHEMA: Final = "is_read BOOLEAN"


class _Reader(DataSourceStreamReader):
    """Reads the row in the first micro-batch. The offset is the number of rows."""

    def initialOffset(self) -> dict[str, int]:
        return {"rows": 0}

    def latestOffset(self, start: Mapping[str, int] | None = None, limit: object = None) -> dict[str, int]:
        return {"rows": 1}

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> list[InputPartition]:
        return [InputPartition(None)] if start["rows"] < end["rows"] else []

    def read(self, partition: InputPartition) -> Iterator[tuple[bool]]:
        yield (True,)


class OneRowSource(QuickAckMixin, DataSource):
    """The data source of the stream."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return _SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _Reader()


def one_row(spark: SparkSession) -> DataFrame:
    """Return the stream."""
    spark.dataSource.register(OneRowSource)
    return spark.readStream.format(NAME).load()
