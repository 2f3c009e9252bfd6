"""``spark.read.format("kafka_sql")``: the same connector for who writes no DDL. Options are those of WITH."""

from __future__ import annotations

from pyspark.sql.types import StructType

from kafka_sql.catalog.provider import KafkaTable
from kafka_sql.definition import Definition, define
from kafka_sql.errors import SchemaError
from kafka_sql.options.connector import CONNECTOR
from kafka_sql.sink.writers import BatchWriter, StreamWriter
from kafka_sql.source.readers import BatchReader, StreamReader
from kafka_sql.table import Column, Table

_SPARKS_OWN = ("path", "checkpointlocation")  # Spark hands its own options over, too


class KafkaFormat(KafkaTable):
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
        self._define(schema)
        return super().reader(schema)

    def streamReader(self, schema: StructType) -> StreamReader:
        """A streaming read."""
        self._define(schema)
        return super().streamReader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """A batch write."""
        self._define(schema)
        return super().writer(schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        """A streaming write."""
        self._define(schema)
        return super().streamWriter(schema, overwrite)

    def _define(self, schema: StructType) -> None:
        given = {key: text for key, text in self.options.items() if key.lower() not in _SPARKS_OWN}
        self.stored = schema
        kinds = ((f, f.dataType.simpleString()) for f in schema)
        columns = tuple(Column(f.name, kind, kind, nullable=f.nullable) for f, kind in kinds)
        self._definition: Definition = define(Table(("kafka_sql",), columns, {CONNECTOR.key: "kafka", **given}))

    @property
    def definition(self) -> Definition:  # type: ignore[override]
        """What the options and the schema say."""
        return self._definition
