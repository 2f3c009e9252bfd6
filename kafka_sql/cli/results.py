"""Rows of a result as lines of text, and the start of a continuous query that prints its rows."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

Lines = list[str]


def start_query(frame: DataFrame, write: Callable[[str], StreamingQuery]) -> StreamingQuery:
    """Start a query in the output mode that it can have.

    Args:
        write: starts it in the output mode that is given.
    """
    try:
        return write("append")
    except AnalysisException as e:
        if not (e.getCondition() or "").startswith("STREAMING_OUTPUT_MODE"):
            raise
        return write("update")  # an aggregate without a watermark: its rows as they change
