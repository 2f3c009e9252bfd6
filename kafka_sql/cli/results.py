"""Start a continuous SELECT in a supported output mode; define the lines in which both engines return results."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

Lines = list[str]


def start_query(frame: DataFrame, write: Callable[[str], StreamingQuery]) -> StreamingQuery:
    """Start a continuous query in an output mode that Spark supports for it.

    Args:
        write: starts the query in a given output mode.
    """
    try:
        return write("append")
    except AnalysisException as e:
        if not (e.getCondition() or "").startswith("STREAMING_OUTPUT_MODE"):
            raise
        return write("update")  # an aggregate without a watermark: print each change of a row
