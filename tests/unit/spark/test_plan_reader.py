"""Analyzed plans that Spark returned: as JSON, and over Spark Connect as the text of EXPLAIN."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.explained_plan import parse_explained_plan
from kafka_sql.spark.expression_text import render
from kafka_sql.spark.plan import Operator, resolve
from kafka_sql.spark.plan_reader import parse_expression, parse_plan

SAVED = Path(__file__).with_name("saved_plans")  # of Spark 4.3
EXPLAINED = (
    "== Parsed Logical Plan ==\n'x\n\n== Analyzed Logical Plan ==\na: int\n{}\n\n== Optimized Logical Plan ==\ny"
)


def saved(name: str) -> Operator:
    return parse_plan(json.loads((SAVED / f"{name}.json").read_text()))


def test_a_join_of_a_stream_and_a_table() -> None:
    """SELECT s.value, p.b FROM s LEFT JOIN p ON s.value = p.a AND s.value > 1."""
    plan = saved("join_with_table")
    (join,) = (operator for operator in plan.walk() if operator.name == "Join")
    left, right = join.children
    assert (join.detail, left.is_streaming, right.is_streaming) == ("LEFT OUTER", True, False)
    assert join.condition is not None
    conditions = [render(condition) for condition in join.condition.conjuncts()]
    assert conditions == ["(value = CAST(a AS long))", "(value > CAST(1 AS long))"]
    assert [column.text for column in join.output] == ["timestamp", "value", "a", "b"]
    assert [operator.table for operator in plan.walk_all() if operator.table] == ["s", "spark_catalog.default.p"]
    assert [operator.detail for operator in plan.walk() if not operator.children] == ["rate"]


def test_a_common_table_expression_is_read_where_it_is_used() -> None:
    """WITH x AS (SELECT value v FROM s) SELECT a.v FROM x a JOIN x b ON a.v = b.v."""
    plan = saved("common_table_expression")
    names = [operator.name for operator in plan.walk()]
    assert names.count("StreamingRelationV2") == names.count("CTERelationRef") == 2
    assert "WithCTE" not in names
    (join,) = (operator for operator in plan.walk() if operator.joins_streams())
    assert join.condition is not None
    assert render(resolve(join.condition, join.children)) == "(value = value)"


def test_the_plans_of_subqueries_are_read() -> None:
    """SELECT value FROM s WHERE value IN (SELECT a FROM p) AND EXISTS (...) AND value > (SELECT max(a) FROM p)."""
    plan = saved("subqueries")
    subqueries = [part for operator in plan.walk() for part in operator.expressions if part.subquery is not None]
    assert [part.name for part in subqueries] == ["ListQuery", "Exists", "ScalarSubquery"]
    assert [o.table for o in plan.walk_all() if o.table.endswith(".p")] == ["spark_catalog.default.p"] * 3
    assert [o.name for o in plan.walk()] == ["StreamingRelationV2", "View", "SubqueryAlias", "Filter", "Project"]


def test_the_text_of_explain_is_a_tree() -> None:
    text = """Project [a#1, x
+y AS b#2]
+- ~Filter a#1 IN (list#9 [])
   :  +- Project [a#13]
   :     +- Relation spark_catalog.default.p[a#13] parquet
   +- ~Join Inner
      :- SubqueryAlias spark_catalog.default.t
      :  +- RelationV2[a#1] spark_catalog.default.t
      +- ~SubqueryAlias s
         +- ~StreamingRelationV2 kafka.s, org.apache.X@1, [], [a#12]"""
    plan = parse_explained_plan(EXPLAINED.format(text))
    assert [operator.name for operator in plan.walk()] == [
        *("StreamingRelationV2", "SubqueryAlias", "Join", "Filter", "Project")
    ]
    assert [o.table for o in plan.walk_all() if o.table] == ["spark_catalog.default.t", "s"]
    assert [o.detail for o in plan.walk() if not o.children] == ["kafka.s"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (EXPLAINED.format("Project [a#1]\n+- ~weird operator"), "the unknown operator 'weird'"),
        (EXPLAINED.format("+- Project [a#1]"), "no analyzed plan"),
        (EXPLAINED.format(""), "no analyzed plan"),
        (EXPLAINED.format("Project").replace("Optimized", "Better"), "no analyzed plan"),
        ("== Physical Plan ==\nScan", "no analyzed plan"),
    ],
)
def test_another_text_is_refused(text: str, found: str) -> None:
    with pytest.raises(UnsupportedSqlError, match=f"checked over Spark Connect: the server's EXPLAIN has {found}"):
        parse_explained_plan(text)


def test_a_binary_literal_has_the_same_text_in_all_plans() -> None:
    texts = [
        render(parse_expression([{"class": "x.Literal", "num-children": 0, "value": value, "dataType": "binary"}]))
        for value in ("[B@6275ba55", "[B@6828778a")
    ]
    assert texts[0] == texts[1]
