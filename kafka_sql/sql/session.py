"""A Spark session that takes Flink's statements: ``spark.sql()`` looks at each statement once and passes on what is
Spark's own.
"""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamReader

from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import TableNotFoundError
from kafka_sql.sql import interpreter, settings, show
from kafka_sql.sql import statements as st
from kafka_sql.sql.create import parse_create
from kafka_sql.sql.failures import unwrapped
from kafka_sql.sql.frames import frame, nothing
from kafka_sql.sql.inserts import Run, insert
from kafka_sql.sql.reads import as_stream, stream

_ATTRIBUTE = "_kafka_sql_tables"


def enable(spark: SparkSession) -> SparkSession:
    """Teach a session Flink's Kafka statements; returns the same session. Calling it again changes nothing.

    ``spark.sql()`` then takes CREATE TABLE ... WITH (...), DROP, DESCRIBE, SHOW TABLES, SHOW CREATE TABLE, SET /
    RESET of Flink's keys, and INSERT INTO the tables so declared; all other statements reach Spark as they are typed.
    ``spark.readStream.table()`` knows the tables with their computed columns and watermarks. Tables belong to the
    session that declared them, and ``spark.newSession()`` is another.
    """
    if _ATTRIBUTE not in spark.__dict__:
        interpreter.share(spark)
        tables = Tables(spark)
        plain = spark.sql

        @functools.wraps(plain)
        def sql(sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:
            with unwrapped():
                return _dispatch(spark, tables, sqlQuery, functools.partial(_run, plain, args, kwargs))

        spark.__dict__[_ATTRIBUTE] = tables
        spark.__dict__["sql"] = sql
        _teach_read_stream()
    return spark


def _run(plain: Any, args: Any, kwargs: dict[str, Any], statement: str) -> DataFrame:
    frame: DataFrame = plain(statement, args, **kwargs) if args is not None else plain(statement, **kwargs)
    return frame


def _dispatch(spark: SparkSession, tables: Tables, text: str, run: Run) -> DataFrame:
    statement = st.kind(text)
    match statement:
        case st.CreateTable():
            tables.create(parse_create(text))
            return nothing(spark)
        case st.DropTable(name, if_exists, temporary):
            if tables.drop(name, temporary) or (temporary and if_exists):
                return nothing(spark)
            if temporary:  # Spark has no such statement
                raise TableNotFoundError(f"There is no temporary table '{'.'.join(name)}' in this session.")
        case st.Describe(name) if (entry := tables.find(name)) is not None:
            return show.describe(spark, entry)
        case st.ShowCreate(name) if (entry := tables.find(name)) is not None:
            return show.show_create_table(spark, entry)
        case st.ShowTables():
            return show.show_tables(tables, statement, text, run)
        case st.SetOption(key, value):
            settings.write(spark, key, value)
            return frame(spark, {"key": pa.string(), "value": pa.string()}, [(key, value)])
        case st.ResetOption(str(key)):  # without a key it is Spark's own, and resets Flink's keys, too
            spark.conf.unset(key)
            return nothing(spark)
        case st.Insert() if (entry := tables.find(statement.name)) is not None:
            return insert(spark, tables, entry, statement, run)
        case None if tables and st.is_query(text):
            streaming = settings.is_streaming(spark)
            return run(as_stream(tables, text, streaming) if streaming or "STREAM" in text.upper() else text)
    return run(text)


def _teach_read_stream() -> None:
    """Let ``spark.readStream.table(t)`` find computed columns and watermarks, which stand in no data source."""
    plain = DataStreamReader.table
    if getattr(plain, _ATTRIBUTE, False):
        return

    @functools.wraps(plain)
    def table(self: DataStreamReader, tableName: str) -> DataFrame:
        spark = self._spark
        tables: Tables | None = spark.__dict__.get(_ATTRIBUTE)
        entry = tables.find(tuple(p.strip("`") for p in tableName.split("."))) if tables is not None else None
        if tables is None or entry is None:
            return plain(self, tableName)
        return tables.plain(stream(entry))

    setattr(table, _ATTRIBUTE, True)
    DataStreamReader.table = table  # type: ignore[method-assign]
