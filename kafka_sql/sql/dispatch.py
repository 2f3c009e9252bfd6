"""One statement of a session: what is Flink's is carried out here, all else is Spark's own."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import TableNotFoundError
from kafka_sql.sql import jobs, settings, show
from kafka_sql.sql import statements as st
from kafka_sql.sql.create import parse_create
from kafka_sql.sql.frames import frame, nothing
from kafka_sql.sql.inserts import Run, insert
from kafka_sql.sql.reads import as_stream


def dispatch(spark: SparkSession, tables: Tables, text: str, run: Run) -> DataFrame:
    """Carry out a statement.

    Args:
        run: Spark's own ``sql()`` with the caller's parameters; it is given the text untouched where the statement is
            Spark's own.
    """
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
        case st.ShowJobs():
            return jobs.show_jobs(spark)
        case st.StopJob():
            return jobs.stop_job(spark, statement)
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
