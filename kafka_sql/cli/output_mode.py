"""Start a continuous SELECT in an output mode that Spark supports for it."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.spark.stream_support import is_output_mode_error
from kafka_sql.sql.jobs.checks.unsupported_operations import explain_unsupported


def start_query(frame: DataFrame, write: Callable[[str], StreamingQuery]) -> StreamingQuery:
    """Start a continuous query in an output mode that Spark supports for it.

    Args:
        write: starts the query in a given output mode.
    """
    try:
        return write("append")
    except AnalysisException as e:
        if not is_output_mode_error(e):
            raise explain_unsupported(e, frame, "SELECT") from None
        return write("update")  # an aggregate without a watermark: print each change of a row
