"""How the rows of a continuous query get into its table: as new rows or, in an upsert table, also as changed ones."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kafka_sql.catalog.tables import Entry

_NOT_IN_THIS_MODE = "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"


def begin(writer: DataStreamWriter, entry: Entry) -> StreamingQuery:
    """Start a query whose name and checkpoint are set.

    A query that has new rows only appends them. Where Spark refuses that, as an aggregate's rows change, an upsert
    table takes those that each batch has changed (Spark's update mode). A Python data source has no such mode, so these
    are written as a batch each.

    Raises:
        AnalysisException: the table is no upsert table, or Spark has the query in neither mode.
    """
    try:
        return writer.format(entry.provider).outputMode("append").start()
    except AnalysisException as e:
        if not entry.definition.is_upsert or e.getCondition() != _NOT_IN_THIS_MODE:
            raise
    provider = entry.provider

    def write(changes: DataFrame, batch: int) -> None:
        changes.write.format(provider).mode("append").save()

    return writer.outputMode("update").foreachBatch(write).start()
