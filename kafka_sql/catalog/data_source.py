"""Make declared tables Python data sources of Spark.

Each table has its own class, which holds the options. So Spark never shows a secret, and reads, INSERT, CTAS, STREAM
and toTable all work. (Spark loses options in its table metadata, or passes them to the wrong table.)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructType

from kafka_sql.definition import Definition
from kafka_sql.errors import SchemaError, UnsupportedSqlError
from kafka_sql.runtime.error_trailer import raises_attributes
from kafka_sql.runtime.workers import QuickAckMixin, freeze_modules
from kafka_sql.source.changelog_checks import check_key_types, check_stream_read
from kafka_sql.source.reader.metadata import FORMAT_PREFIX, metadata_columns
from kafka_sql.source.stream.rate_limits import check_admission_options
from kafka_sql.suggestions import did_you_mean

if TYPE_CHECKING:
    from kafka_sql.sink.spark_writers import BatchWriter, StreamWriter
    from kafka_sql.source.spark_readers import BatchReader, StreamReader

_TIME_TYPE: Final = re.compile(r"\btime\(\d\)")


@raises_attributes
class KafkaTable(QuickAckMixin, DataSource):
    """A declared table as a data source; each table has a subclass with its definition.

    Readers and writers are imported when they are needed: Spark plans each step in another process, and the first query
    of a session waits until all of them have imported this module.
    """

    definition: ClassVar[Definition]
    needs_time_zone: ClassVar[bool] = False  # whether a metadata column depends on the session's time zone
    # the session's time zone when the data source was registered, if it is needed
    time_zone: ClassVar[str | None] = None
    spark_schema: StructType

    def __init__(self, options: dict[str, str]) -> None:
        """Create the data source, as Spark does for each plan."""
        super().__init__(options)
        freeze_modules()  # in each planning step, because each runs in its own process, which serves many plans

    def schema(self) -> StructType:
        return self.spark_schema

    def reader(self, schema: StructType) -> BatchReader:
        from kafka_sql.source.spark_readers import BatchReader

        freeze_modules()
        _check_read_schema(self.definition, self.spark_schema, schema)
        return BatchReader(self.definition, arrow_schema(schema), self.time_zone)

    def streamReader(self, schema: StructType) -> StreamReader:
        from kafka_sql.source.spark_readers import StreamReader

        _check_read_schema(self.definition, self.spark_schema, schema)
        check_stream_read(self.definition)
        return StreamReader(self.definition, arrow_schema(schema), self.time_zone)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        from kafka_sql.sink.spark_writers import BatchWriter

        self._check_write(schema, overwrite)
        return BatchWriter(self.definition, self.time_zone)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        from kafka_sql.sink.spark_writers import StreamWriter

        self._check_write(schema, overwrite, is_stream=True)
        return StreamWriter(self.definition, self.time_zone)

    def _check_write(self, schema: StructType, overwrite: bool, is_stream: bool = False) -> None:
        from kafka_sql.sink.spark_writers import check_sink

        freeze_modules()
        if overwrite:
            raise UnsupportedSqlError(
                f"Table '{self.definition.name}': a Kafka topic cannot be overwritten. Use INSERT INTO.",
                table=self.definition.name,
            )
        _check_columns(self.definition, self.spark_schema, schema)
        check_sink(self.definition, arrow_schema(schema), is_stream)


def _check_read_schema(definition: Definition, table_schema: StructType, schema: StructType) -> None:
    """Check that a read has the table's columns: with ``spark.read.schema(...)``, Spark passes that schema instead."""
    columns, expected = (
        {field.name: _without_time_precision(field.dataType) for field in s} for s in (schema, table_schema)
    )
    if columns != expected:
        different = next(name for name in (*columns, *expected) if columns.get(name) != expected.get(name))
        raise SchemaError(
            f"Table '{definition.name}': the read's schema differs from the table's in column '{different}'. Remove "
            ".schema(...), or declare another table over the topic with these columns.",
            column=different,
            table=definition.name,
        )


def _check_columns(definition: Definition, table_schema: StructType, row_schema: StructType) -> None:
    """Check the columns of the rows to write against the table: Spark does not check those of a DataFrame."""
    expected = {c.name: table_schema[c.name].dataType for c in definition.table.source_columns}
    required = {c.name for c in definition.table.physical_columns}
    for field in row_schema:
        if field.name not in expected:
            suggestion = did_you_mean(field.name, expected)
            raise SchemaError(
                f"Table '{definition.name}': column '{field.name}' not found.{suggestion}",
                column=field.name,
                table=definition.name,
            )
        if _without_time_precision(field.dataType) != _without_time_precision(expected[field.name]):
            type = expected[field.name].simpleString()
            raise SchemaError(
                f"Table '{definition.name}': column '{field.name}' is {type}, but the query writes "
                f"{field.dataType.simpleString()}. Cast it: CAST({field.name} AS {type}).",
                column=field.name,
                table=definition.name,
            )
    missing = sorted(required - set(row_schema.fieldNames()))
    if missing:
        raise SchemaError(
            f"Table '{definition.name}': column '{missing[0]}' is missing from the rows to write. Add it to the query.",
            column=missing[0],
            table=definition.name,
        )


def has_time_type(type: DataType) -> bool:
    """Return whether a type is TIME, or has it inside."""
    return _TIME_TYPE.search(type.simpleString()) is not None


def _without_time_precision(type: DataType) -> str:
    """Return a type with TIME(p) as TIME: the values of each precision are nanoseconds."""
    return _TIME_TYPE.sub("time", type.simpleString())


def make_data_source(name: str, definition: Definition, spark_schema: StructType) -> type[KafkaTable]:
    """Return a table's data source class, to be registered with Spark under ``name``, after checking its columns.

    Args:
        spark_schema: the source columns.

    Raises:
        SchemaError: the format or Kafka's metadata does not support a column.
        UnsupportedOptionError: this version of Spark does not support an option.
    """
    check_admission_options(definition)
    schema = arrow_schema(spark_schema)
    metadata = metadata_columns(definition, schema)
    format_keys = tuple(c.key.removeprefix(FORMAT_PREFIX) for c in metadata if c.from_format)
    definition.value.create_decoder(schema, format_keys)
    definition.value.create_encoder(schema)
    if definition.key is not None:
        definition.key.create_decoder(schema)
        definition.key.create_encoder(schema)
    if definition.reads_content:
        check_key_types(schema, definition.row_key)
    data_source = data_source_class(name, definition, spark_schema)
    data_source.needs_time_zone = any(c.needs_time_zone for c in metadata)
    return data_source


def data_source_class(name: str, definition: Definition, spark_schema: StructType) -> type[KafkaTable]:
    """Return a table's data source class without checking its columns."""
    return type(
        "KafkaTable",
        (KafkaTable,),
        {"definition": definition, "spark_schema": spark_schema, "name": classmethod(lambda cls: name)},
    )


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of the batches that Spark expects from a Python data source."""
    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # Spark 4.1 and 4.2 lack the parameter and use UTC
        return to_arrow_schema(schema)
