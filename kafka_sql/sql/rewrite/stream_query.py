"""Build the query that reads a Kafka table as a stream, with its computed columns and its watermark."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafka_sql.catalog.catalog_table import CatalogTable, select_statement
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import Tables
from kafka_sql.spark.event_time import below_filters, can_keep_filters_above, with_same_microseconds
from kafka_sql.table.table import Watermark

EVENT_TIME: Final = "__event_time"


def stream_query(tables: Tables, entry: CatalogTable, with_watermark: bool = True) -> str:
    """Return the query that reads a table as a stream, with its computed columns and, by default, its watermark.

    Raises:
        InvalidOptionError: a setting of the session would change a computed column.
    """
    tables.check_settings(entry)
    text = select_statement(entry, stream=True)
    watermark = entry.table.watermark
    if watermark is None or not with_watermark:
        return text
    rows = tables.spark_sql(text)
    if watermark.has_time_zone and not can_keep_filters_above(rows.sparkSession):
        return f"SELECT * FROM ({text}) WATERMARK {quote(watermark.column)} DELAY OF INTERVAL {watermark.delay}"
    return f"SELECT * FROM {quote(_create_watermarked_view(tables, entry, watermark, rows))}"


def _create_watermarked_view(tables: Tables, entry: CatalogTable, watermark: Watermark, rows: DataFrame) -> str:
    """Create a temporary view of a stream with a watermark; return its name.

    Spark computes watermarks of TIMESTAMP columns only (EventTimeWatermark), but stateful operators accept any column
    with the metadata of one, and compare its microseconds with the watermark. So the watermark of a column without a
    time zone is computed for a copy with the same microseconds, which no time zone can shift, and its metadata is given
    to the column. SQL cannot set the metadata of a column; hence the view.
    """
    column = time = quote(watermark.column)
    if not watermark.has_time_zone:
        time = EVENT_TIME
        rows = rows.select("*", with_same_microseconds(rows.sparkSession, rows[column]).alias(time))
    stream = rows.withWatermark(time, f"INTERVAL {watermark.delay}")
    metadata = stream.select(time).schema[0].metadata
    columns = {c.name: F.col(quote(c.name)) for c in entry.table.columns}
    columns[watermark.column] = below_filters(stream, column).alias(watermark.column, metadata=metadata)
    view = "_".join(filter(None, entry.storage_name)) + "__stream"
    stream.select(*columns.values()).createOrReplaceTempView(view)
    tables.stream_views.add(view)
    return view
