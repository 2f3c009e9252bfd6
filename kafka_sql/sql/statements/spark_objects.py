"""Execute statements about tables, views and databases of Spark, some of which concern Kafka tables, too."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.sql_literals import qualified_name
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import TableNotFoundError, UnsupportedSqlError
from kafka_sql.spark.session_catalog import SESSION_CATALOG
from kafka_sql.sql.dataframes import SparkSql, empty_dataframe
from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize import statement_types as st
from kafka_sql.sql.recognize.names import find_declared_table, strip_catalog
from kafka_sql.sql.recognize.statement_types import FlinkStatement, UnsupportedStatement
from kafka_sql.sql.recognize.token_cursor import TokenCursor
from kafka_sql.sql.statements import spark_ddl


def alter_table(spark: SparkSession, statement: st.AlterTable, text: str, spark_sql: SparkSql) -> DataFrame:
    """Execute ALTER TABLE for a table that is not a Kafka table.

    Raises:
        TableNotFoundError: the table does not exist, and Spark cannot parse the statement.
    """
    if statement.if_exists and not spark.catalog.tableExists(qualified_name(strip_catalog(statement.name))):
        return empty_dataframe(spark)
    if statement.is_flink_syntax:
        full_name = ".".join(statement.name)
        raise TableNotFoundError(
            f"ALTER TABLE {full_name}: Kafka table '{full_name}' not found. SHOW TABLES lists all tables. Other tables "
            "need Spark's syntax, such as SET TBLPROPERTIES (...).",
            table=full_name,
        )
    if statement.if_exists:  # Spark does not support IF EXISTS here
        return spark_sql(f"ALTER TABLE {qualified_name(statement.name)}{text[statement.clause_start :]}")
    return spark_sql(text)


def catalog_name(name: str) -> str:
    """Return Spark's name of a catalog of Flink."""
    return SESSION_CATALOG if name.lower() == "default_catalog" else name


def database_name(spark: SparkSession, name: tuple[str, ...]) -> tuple[str, ...]:
    """Return Spark's name of a database in Flink's default catalog. A Spark database of that name is used as it is."""
    if len(name) > 1:
        return strip_catalog((*name, ""))[:-1] if len(name) == 2 else name
    return name if spark.catalog.databaseExists(name[0]) else ("default",)


def drop_temporary_view(spark: SparkSession, name: tuple[str, ...], if_exists: bool) -> DataFrame:
    """Drop a temporary view. Spark's DROP VIEW would drop a permanent one instead if there is no temporary one."""
    full_name = ".".join(name)
    if not (len(name) == 1 and spark.catalog.dropTempView(name[0])) and not if_exists:
        raise TableNotFoundError(f"Temporary view '{full_name}' not found in this session.", table=full_name)
    return empty_dataframe(spark)


def create_view(tables: Tables, statement: st.CreateView, text: str) -> str:
    """Return a CREATE VIEW for Spark. Reject one that would replace a Kafka table.

    A temporary view may hide a permanent Kafka table.
    """
    if tables and not statement.keeps_tables:
        entry = find_declared_table(tables, statement.name, statement.temporary)
        if entry is not None:
            raise unsupported_statement(entry, st.UnsupportedStatement("CREATE VIEW", statement.name))
    return spark_ddl.rewrite_create_view(tables, text)


def check_replaces_no_table(tables: Tables, text: str) -> None:
    """Check that Spark's REPLACE TABLE does not replace a Kafka table: Iceberg would hide it behind a new table.

    Raises:
        UnsupportedSqlError: it would.
    """
    cursor = TokenCursor(lexer.tokenize_spark(text))
    cursor.take_words("CREATE", "OR")
    name = cursor.take_name() if cursor.take_words("REPLACE", "TABLE") else ()
    entry = find_declared_table(tables, name, temporary=False) if name else None
    if entry is not None:
        raise unsupported_statement(entry, st.UnsupportedStatement("REPLACE TABLE", name))


def drop_kafka_tables(tables: Tables, database: tuple[str, ...]) -> None:
    """Drop the Kafka tables of a database, before Spark drops the database with CASCADE."""
    *name, _ = strip_catalog((*database, "any_table"))
    if len(name) != 1 or name[0].lower() == "default":  # in another catalog, or the database that Spark never drops
        return
    for entry in [e for e in tables if e.name[0] == name[0].lower()]:
        tables.remove(entry)


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
