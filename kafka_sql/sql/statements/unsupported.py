"""Reject statements that Kafka tables or Spark do not support, with what to use instead."""

from __future__ import annotations

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize.statement_types import FlinkStatement, UnsupportedStatement

_ALTERNATIVES = {
    "UPDATE": "records in a topic cannot be changed. Use INSERT INTO to write new records",
    "DELETE FROM": "records in a topic cannot be deleted here. Use Kafka's retention or kafka-delete-records",
    "MERGE INTO": "records in a topic cannot be changed. Use INSERT INTO",
    "TRUNCATE TABLE": "a topic cannot be emptied here. Use Kafka's retention or kafka-delete-records",
    "ANALYZE TABLE": "statistics of a topic would be outdated at once",
    "COMMENT ON TABLE": "the comment is part of the declaration. Use CREATE TABLE ... COMMENT '...' WITH (...)",
    "DROP VIEW": "it is a table, not a view. Use DROP TABLE",
    "SHOW CREATE VIEW": "it is a table, not a view. Use SHOW CREATE TABLE",
    "ALTER VIEW": "it is a table, not a view. Use ALTER TABLE",
    "CREATE VIEW": "it is a table, not a view. Choose another name, or DROP TABLE it first",
    "REPLACE TABLE": "DROP TABLE it first, or declare it with CREATE OR REPLACE TABLE ... WITH (...)",
}


_FLINK_ALTERNATIVES = {
    "PLAN": "Spark has no stored plans. Run the INSERT; its checkpoint is continued as long as the query is compatible",
    "MATERIALIZED TABLE": "use a streaming INSERT, CREATE TABLE ... USING ... AS in streaming mode, or a pipeline",
    "CATALOG": (
        "Kafka tables need none. Set Spark's catalogs when the session starts, with spark.sql.catalog.<name>; "
        "kafka-sql --catalog FOLDER and kafka_sql.enable(spark, catalog=FOLDER) store Kafka tables"
    ),
    "MODEL": "call the model in a Python function of the session",
}


def unsupported_statement(entry: CatalogTable, statement: UnsupportedStatement) -> UnsupportedSqlError:
    """Return the error for a statement that Kafka tables do not support."""
    advice = _ALTERNATIVES[statement.verb]
    return UnsupportedSqlError(
        f"{statement.verb} is not supported for Kafka table '{entry.definition.name}': {advice}.",
        table=entry.definition.name,
    )


def unsupported_flink_statement(statement: FlinkStatement) -> UnsupportedSqlError:
    """Return the error for a statement of Flink that neither Spark nor this package has."""
    alternative = _FLINK_ALTERNATIVES[statement.verb.partition(" ")[2]]
    return UnsupportedSqlError(f"{statement.verb} is not supported: {alternative}.")
