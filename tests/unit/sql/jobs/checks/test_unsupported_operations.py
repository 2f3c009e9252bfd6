"""Errors of queries that Spark does not support in streams: one line, and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.jobs.checks import unsupported_operations
from kafka_sql.sql.jobs.checks.unsupported_operations import explain_unsupported
from tests.unit.sql.jobs.plans import aggregate, alias, column, count_of, source

PLAN = ";\n~Aggregate [count(distinct user_id#30) AS u#40L]\n+- ~StreamingRelationV2 kafka.t"
USERS = column("user_id", 30)
COUNTS = aggregate(source(user_id=30), (), alias(count_of(USERS, "DISTINCT"), "u"))


class _Unsupported(AnalysisException):
    def getCondition(self) -> str:
        return "_LEGACY_ERROR_TEMP_3102"


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
def test_the_error_of_an_unsupported_operation(
    monkeypatch: pytest.MonkeyPatch, spark_message: str, message: str
) -> None:
    monkeypatch.setattr(unsupported_operations, "read_plan", lambda rows: rows)
    rows: Any = COUNTS
    error = explain_unsupported(_Unsupported(spark_message + PLAN), rows, "t")
    assert isinstance(error, UnsupportedSqlError)
    assert (error.table, str(error)) == ("t", f"[UNSUPPORTED_SQL] INSERT INTO 't': {message}")


def test_errors_with_another_condition_are_kept() -> None:
    error = AnalysisException("[DATATYPE_MISMATCH] a type is not supported")
    rows: Any = None
    assert explain_unsupported(error, rows) is error
