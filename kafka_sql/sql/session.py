"""A Spark session that takes Flink's statements: ``spark.sql()`` looks at each statement once and passes on what is
Spark's own.
"""

from __future__ import annotations

import functools
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamReader

from kafka_sql.catalog.tables import Tables
from kafka_sql.sql import interpreter
from kafka_sql.sql.dispatch import dispatch
from kafka_sql.sql.failures import unwrapped
from kafka_sql.sql.reads import stream

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
                return dispatch(spark, tables, sqlQuery, functools.partial(_run, plain, args, kwargs))

        spark.__dict__[_ATTRIBUTE] = tables
        spark.__dict__["sql"] = sql
        _teach_read_stream()
    return spark


def _run(plain: Any, args: Any, kwargs: dict[str, Any], statement: str) -> DataFrame:
    frame: DataFrame = plain(statement, args, **kwargs) if args is not None else plain(statement, **kwargs)
    return frame


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
