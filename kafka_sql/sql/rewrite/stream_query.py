"""Build the query that reads a Kafka table as a stream, with its computed columns and its watermark."""

from __future__ import annotations

from typing import Final

from pyspark.sql import functions as F

from kafka_sql.catalog.catalog_table import CatalogTable, select_statement
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import Tables
from kafka_sql.spark.event_time import with_same_microseconds
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
    if watermark.has_time_zone:
        return f"SELECT * FROM ({text}) WATERMARK {quote(watermark.column)} DELAY OF INTERVAL {watermark.delay}"
    return f"SELECT * FROM {quote(_create_watermarked_view(tables, entry, watermark, text))}"


def _create_watermarked_view(tables: Tables, entry: CatalogTable, watermark: Watermark, query: str) -> str:
    """Create a temporary view of a stream whose event-time column has no time zone; return its name.

    Spark computes watermarks of TIMESTAMP columns only (EventTimeWatermark), but stateful operators accept any column
    with the metadata of one, and compare its microseconds with the watermark. So the watermark is computed for a copy
    of the column with the same microseconds, which no time zone can shift, and its metadata is given to the column.
    SQL cannot set the metadata of a column; hence the view.
    """
    rows = tables.spark_sql(query)
    event_time = with_same_microseconds(rows.sparkSession, rows[quote(watermark.column)])
    stream = rows.select("*", event_time.alias(EVENT_TIME)).withWatermark(EVENT_TIME, f"INTERVAL {watermark.delay}")
    metadata = stream.schema[EVENT_TIME].metadata
    columns = {c.name: F.col(quote(c.name)) for c in entry.table.columns}
    columns[watermark.column] = columns[watermark.column].alias(watermark.column, metadata=metadata)
    view = "_".join(filter(None, entry.storage_name)) + "__stream"
    stream.select(*columns.values()).createOrReplaceTempView(view)
    tables.stream_views.add(view)
    return view
