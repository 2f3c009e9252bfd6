"""Define the data source of ``spark.read.format("kafka_sql")``: the connector without DDL.

Its options are those of ``WITH (...)``.

Import little here: Spark imports this module in a separate process when it looks for data sources, and the first query
of a session waits for that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from kafka_sql.errors import SchemaError
from kafka_sql.runtime.error_trailer import raises_attributes
from kafka_sql.runtime.workers import QuickAckMixin

if TYPE_CHECKING:
    from kafka_sql.catalog.data_source import KafkaTable
    from kafka_sql.sink.spark_writers import BatchWriter, StreamWriter
    from kafka_sql.source.spark_readers import BatchReader, StreamReader

_SPARK_OPTIONS = ("path", "checkpointlocation")  # Spark passes its own options, too


@raises_attributes
class KafkaSource(QuickAckMixin, DataSource):
    """The data source ``kafka_sql``: options from ``.options(...)``, physical columns from ``.schema(...)`` or the
    written DataFrame.
    """

    @classmethod
    def name(cls) -> str:
        return "kafka_sql"

    def schema(self) -> StructType:
        """Raise SchemaError: a topic has no schema, so the reader needs ``.schema(...)``."""
        raise SchemaError(
            "Format 'kafka_sql' needs a schema. Add, for example, .schema('order_id BIGINT, price DECIMAL(10,2)')."
        )

    def reader(self, schema: StructType) -> BatchReader:
        return self._table(schema).reader(schema)

    def streamReader(self, schema: StructType) -> StreamReader:
        return self._table(schema).streamReader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        return self._table(schema).writer(schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        return self._table(schema).streamWriter(schema, overwrite)

    def _table(self, schema: StructType) -> KafkaTable:
        from kafka_sql.catalog.data_source import data_source_class
        from kafka_sql.definition import validate_table
        from kafka_sql.options.connector import CONNECTOR
        from kafka_sql.table.table import Column, Table

        options = {key: text for key, text in self.options.items() if key.lower() not in _SPARK_OPTIONS}
        types = ((f, f.dataType.simpleString()) for f in schema)
        columns = tuple(Column(f.name, type, type, nullable=f.nullable) for f, type in types)
        definition = validate_table(Table(("kafka_sql",), columns, {CONNECTOR.key: "kafka", **options}))
        definition = replace(definition, statement_options=frozenset(options))
        return data_source_class(self.name(), definition, schema)(dict(self.options))
