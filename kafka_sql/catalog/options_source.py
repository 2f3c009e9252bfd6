"""``spark.read.format("kafka_sql")``: the same connector for who writes no DDL. Options are those of WITH.

Imports little: Spark's search for data sources imports this module in a process of its own, and a session's first query
waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from kafka_sql.errors import SchemaError

if TYPE_CHECKING:
    from kafka_sql.catalog.data_source import KafkaTable
    from kafka_sql.sink.spark_writers import BatchWriter, StreamWriter
    from kafka_sql.source.spark_readers import BatchReader, StreamReader

_SPARKS_OWN = ("path", "checkpointlocation")  # Spark hands its own options over, too


class KafkaSource(DataSource):
    """The data source ``kafka_sql``: options from ``.options(...)``, physical columns from ``.schema(...)`` or the
    DataFrame.
    """

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "kafka_sql"

    def schema(self) -> StructType:
        """A topic has no schema of its own.

        Raises:
            SchemaError: always; the reader says ``.schema(...)``.
        """
        raise SchemaError(
            "Format 'kafka_sql' needs the columns of the records: add .schema('order_id BIGINT, price DECIMAL(10,2)')."
        )

    def reader(self, schema: StructType) -> BatchReader:
        """A batch read."""
        return self._table(schema).reader(schema)

    def streamReader(self, schema: StructType) -> StreamReader:
        """A streaming read."""
        return self._table(schema).streamReader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """A batch write."""
        return self._table(schema).writer(schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        """A streaming write."""
        return self._table(schema).streamWriter(schema, overwrite)

    def _table(self, schema: StructType) -> KafkaTable:
        from kafka_sql.catalog.data_source import data_source_class
        from kafka_sql.definition import validate_table
        from kafka_sql.options.connector import CONNECTOR
        from kafka_sql.table.declaration import Column, Table

        given = {key: text for key, text in self.options.items() if key.lower() not in _SPARKS_OWN}
        kinds = ((f, f.dataType.simpleString()) for f in schema)
        columns = tuple(Column(f.name, kind, kind, nullable=f.nullable) for f, kind in kinds)
        definition = validate_table(Table(("kafka_sql",), columns, {CONNECTOR.key: "kafka", **given}))
        return data_source_class(self.name(), definition, schema)(dict(self.options))
