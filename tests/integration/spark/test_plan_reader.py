"""The plans of the installed Spark are read: one query per operator that decisions depend on."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.spark.plan import Operator
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.spark.stream_support import distinct_column, groups_by_event_time, supports_append_mode

pytestmark = pytest.mark.integration

WATERMARK = "(SELECT * FROM STREAM plan_s WATERMARK timestamp DELAY OF INTERVAL 5 SECONDS)"
# a query of the stream plan_s and the table plan_t, and its operators after the source and its view
OPERATORS = {
    "SELECT value + 1 AS v FROM plan_s WHERE value > 1": "Filter, Project",
    "SELECT value, count(*) FROM plan_s GROUP BY value": "Aggregate",
    "SELECT value, count(*) FROM plan_s GROUP BY CUBE (value)": "Project, Expand, Aggregate",
    "SELECT DISTINCT value FROM plan_s": "Project, Distinct",
    "SELECT e FROM plan_s LATERAL VIEW explode(array(value)) t AS e": "Generate, Project",
    "SELECT * FROM plan_s ORDER BY value LIMIT 2 OFFSET 1": "Project, Sort, Offset, LocalLimit, GlobalLimit",
    "SELECT row_number() OVER (ORDER BY value) AS n FROM plan_s": "Project, Window, Project, Project",
    "SELECT value FROM plan_s TABLESAMPLE (5 PERCENT)": "Sample, Project",
    "SELECT /*+ REPARTITION(3) */ value FROM plan_s": "Project, Repartition",
    f"SELECT value FROM {WATERMARK}": "EventTimeWatermark, Project, SubqueryAlias, Project",
}
JOINS = ("INNER", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "LEFT SEMI", "LEFT ANTI", "CROSS")


@pytest.fixture
def plans(spark: Any, sql: Any) -> Any:
    """Return a function that reads the plan of a query. The fixture sql drops the views."""
    spark.readStream.format("rate").load().createOrReplaceTempView("plan_s")
    spark.sql("SELECT 1 AS id, 'x' AS name").createOrReplaceTempView("plan_t")
    return lambda query: read_plan(sql(query))


def names(plan: Operator) -> str:
    return ", ".join(operator.name for operator in plan.walk())


def test_operators(plans: Any) -> None:
    found = {query: names(plans(query)) for query in OPERATORS}
    source = "StreamingRelationV2, View, SubqueryAlias, "
    assert found == {query: source + operators for query, operators in OPERATORS.items()}


def test_joins(plans: Any) -> None:
    found = []
    for kind in JOINS:
        condition = "" if kind == "CROSS" else "ON a.value = b.value"
        plan = plans(f"SELECT a.value FROM plan_s a {kind} JOIN plan_s b {condition}")
        found += [operator.detail for operator in plan.walk() if operator.joins_streams()]
    assert tuple(found) == JOINS
    (join,) = (o for o in plans("SELECT * FROM plan_s JOIN plan_t ON value = id").walk() if o.name == "Join")
    assert [child.is_streaming for child in join.children] == [True, False]
    assert [column.text for column in join.output] == ["timestamp", "value", "id", "name"]


def test_event_times(spark: Any, plans: Any) -> None:
    for keys, expected in (("timestamp", True), ("window(timestamp, '1 minute')", True), ("value", False)):
        query = f"SELECT count(DISTINCT value) FROM {WATERMARK} GROUP BY {keys}"
        assert groups_by_event_time(plans(query)) is expected
    assert distinct_column(plans(query)) == "value"
    assert not groups_by_event_time(plans("SELECT count(*) FROM plan_s GROUP BY timestamp"))
    assert supports_append_mode(spark.sql(f"SELECT count(*) FROM {WATERMARK} GROUP BY timestamp"))
    assert not supports_append_mode(spark.sql("SELECT count(*) FROM plan_s GROUP BY timestamp"))
    renamed = plans(f"SELECT timestamp AS t, value FROM {WATERMARK}")
    assert [column.is_event_time for column in renamed.output] == [True, False]


def test_tables(plans: Any) -> None:
    query = "SELECT * FROM plan_s JOIN plan_t ON value = id WHERE value IN (SELECT id FROM plan_t)"
    assert [o.table for o in plans(query).walk_all() if o.table] == ["plan_s", "plan_t", "plan_t"]
