"""The data source class of a table.

One class a table: its options live in the class, so Spark never shows a secret, and reads, INSERT, CTAS, STREAM and
toTable all work. (Options given in Spark's own metadata are lost, or reach the wrong table.)
"""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from kafka_sql.definition import Definition
from kafka_sql.errors import SchemaError, UnsupportedSqlError, did_you_mean
from kafka_sql.runtime.gc_freeze import freeze_modules
from kafka_sql.runtime.time_zone import SESSION_ZONE
from kafka_sql.sink.spark_writers import BatchWriter, StreamWriter, check_sink
from kafka_sql.source.changelog_checks import check_batch_read, check_key_types, check_stream_read
from kafka_sql.source.reader.metadata import FORMAT_PREFIX, metadata_columns
from kafka_sql.source.spark_readers import BatchReader, StreamReader
from kafka_sql.source.stream.read_limits import check_admission_options


class KafkaTable(DataSource):
    """A declared table as a data source; a subclass holds the definition."""

    definition: ClassVar[Definition]
    spark_schema: StructType

    def __init__(self, options: dict[str, str]) -> None:
        """As Spark does for each plan."""
        super().__init__(options)
        freeze_modules()  # here and below: each step of a plan has a process of its own, which serves many plans

    def schema(self) -> StructType:
        """The stored columns."""
        return self.spark_schema

    def reader(self, schema: StructType) -> BatchReader:
        """A batch read."""
        freeze_modules()
        check_batch_read(self.definition)
        return BatchReader(self.definition, arrow_schema(schema))

    def streamReader(self, schema: StructType) -> StreamReader:
        """A streaming read."""
        check_stream_read(self.definition)
        return StreamReader(self.definition, arrow_schema(schema))

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """A batch write."""
        self._check_write(schema, overwrite)
        return BatchWriter(self.definition)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        """A streaming write."""
        self._check_write(schema, overwrite)
        return StreamWriter(self.definition)

    def _check_write(self, schema: StructType, overwrite: bool) -> None:
        freeze_modules()
        if overwrite:
            raise UnsupportedSqlError(
                f"Table '{self.definition.name}': a Kafka topic cannot be overwritten, only appended to. Use INSERT "
                f"INTO."
            )
        _check_columns(self.definition, self.spark_schema, schema)
        check_sink(self.definition, arrow_schema(schema))


def _check_columns(definition: Definition, stored: StructType, written: StructType) -> None:
    """Check what is written against the table: by DataFrames, Spark lets any columns through.

    Raises:
        SchemaError: a column is missing, unknown or of another type.
    """
    expected = {c.name: stored[c.name].dataType.simpleString() for c in definition.table.stored_columns}
    needed = {c.name for c in definition.table.physical_columns}
    for field in written:
        if field.name not in expected:
            near = did_you_mean(field.name, expected)
            raise SchemaError(f"Table '{definition.name}' has no column '{field.name}' to be written.{near}")
        if field.dataType.simpleString() != expected[field.name]:
            raise SchemaError(
                f"Table '{definition.name}': column '{field.name}' is {expected[field.name]}, and "
                f"{field.dataType.simpleString()} is written. Cast it."
            )
    missing = needed - set(written.fieldNames())
    if missing:
        raise SchemaError(f"Table '{definition.name}': column '{sorted(missing)[0]}' is not among those written.")


def make_data_source(name: str, definition: Definition, stored: StructType) -> type[KafkaTable]:
    """The class of one table, to be registered with Spark under ``name``.

    Raises:
        SchemaError: a column that the format or Kafka's metadata cannot carry.
        UnsupportedOptionError: an option that this version of Spark cannot carry.
    """
    check_admission_options(definition)
    schema = arrow_schema(stored)
    metadata = metadata_columns(definition, schema)
    asked = tuple(c.key.removeprefix(FORMAT_PREFIX) for c in metadata if c.from_format)
    definition.value.create_decoder(schema, asked)
    definition.value.create_encoder(schema)
    if definition.key is not None:
        definition.key.create_decoder(schema)
        definition.key.create_encoder(schema)
    if definition.reads_latest_per_key:
        key = (
            definition.table.primary_key
            if definition.is_changelog or definition.key is None
            else definition.key.columns
        )
        check_key_types(schema, key)
    if any(c.needs_time_zone for c in metadata):
        _hand_zone_over()
    return data_source_class(name, definition, stored)


def data_source_class(name: str, definition: Definition, stored: StructType) -> type[KafkaTable]:
    """The same without a look at whether the columns can be read and written."""
    return type(
        "KafkaTable",
        (KafkaTable,),
        {"definition": definition, "stored": stored, "name": classmethod(lambda cls: name)},
    )


def _hand_zone_over() -> None:
    """Set the session's time zone to what it is: Spark hands a task only those settings that were set."""
    spark = SparkSession.getActiveSession()
    if spark is not None:
        spark.conf.set(SESSION_ZONE, str(spark.conf.get(SESSION_ZONE)))


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema in which Spark takes a Python source's batches."""
    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # Spark 4.1 and 4.2 have no such parameter, and mean UTC
        return to_arrow_schema(schema)
