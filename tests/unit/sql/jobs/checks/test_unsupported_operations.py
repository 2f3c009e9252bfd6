"""Errors of queries that Spark does not support in streams: one line, and what to write instead."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from kafka_sql.sql.jobs.checks.unsupported_operations import is_unsupported_operation, unsupported_operation

PLAN = (
    ";\n~Aggregate [window#1], [count(1) AS n#2L, count(distinct user_id#30) AS u#40L]\n+- ~StreamingRelationV2 kafka.t"
)


@pytest.mark.parametrize(
    ("spark_message", "message"),
    [
        (
            "Distinct aggregations are not supported on streaming DataFrames/Datasets. Consider using "
            "approx_count_distinct() instead.",
            "an aggregate with DISTINCT is not supported in this continuous query. Replace "
            "COUNT(DISTINCT user_id) by size(collect_set(user_id)), which has the same result, or by "
            "approx_count_distinct(user_id), which needs less state.",
        ),
        (
            "Sorting is not supported on streaming DataFrames/Datasets, unless it is on aggregated DataFrame/Dataset "
            "in Complete output mode",
            "ORDER BY is not supported in a continuous query, which has no last row. Sort the rows when the table is "
            "read. For a Top-N, write ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...) <= n.",
        ),
        ("Sampling is not supported on streaming", "Sampling is not supported on streaming."),
    ],
)
def test_the_error_of_an_unsupported_operation(spark_message: str, message: str) -> None:
    spark_error = AnalysisException(spark_message + PLAN)
    assert is_unsupported_operation(spark_error)
    error = unsupported_operation(spark_error, "INSERT INTO 't'", "t")
    assert (error.table, str(error)) == ("t", f"[UNSUPPORTED_SQL] INSERT INTO 't': {message}")


def test_errors_with_a_condition_are_kept() -> None:
    assert not is_unsupported_operation(AnalysisException("[DATATYPE_MISMATCH] a type is not supported"))
