"""What a continuous query must be for its sink to be written exactly once."""

from __future__ import annotations

from pyspark.sql import SparkSession

from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once.timeout import check_trigger
from kafka_sql.sink.spark_writers import exactly_once
from kafka_sql.sql.jobs.job_registry import jobs


def check_writer(spark: SparkSession, definition: Definition, interval: int | None) -> tuple[str, str] | None:
    """Check a query's sink before it starts.

    Args:
        interval: of the trigger, in milliseconds.

    Returns:
        cluster and prefix, which must be the query's own; None where the sink is not exactly-once.

    Raises:
        InvalidOptionError: a job of this session writes under the same prefix, or the transactions' timeout is shorter
            than the trigger's interval.
    """
    if not exactly_once(definition):
        return None
    if interval is not None:
        check_trigger(definition, interval)
    mine = definition.client["bootstrap.servers"], definition.options[opt.TRANSACTIONAL_ID_PREFIX]
    for job in jobs(spark):
        if job.writer == mine and job.query.isActive:
            raise InvalidOptionError(
                f"INSERT INTO '{definition.name}': job '{job.id}' ({job.name}) writes with "
                f"'{opt.TRANSACTIONAL_ID_PREFIX.key}' = '{mine[1]}' already, and each query needs one of its own. Give "
                f"this one another, as by the hint /*+ OPTIONS('{opt.TRANSACTIONAL_ID_PREFIX.key}' = '...') */, or "
                f"STOP JOB '{job.id}'."
            )
    return mine
