"""Plans and expressions that Spark returned."""

from __future__ import annotations

from kafka_sql.spark.expression_text import render
from kafka_sql.spark.plan import Expression, Operator, resolve
from kafka_sql.spark.plan_reader import parse_expression
from tests.unit.sql.jobs.plans import alias, binary, column, literal, project, source

CATALYST = "org.apache.spark.sql.catalyst.expressions."


def node(kind: str, children: int, **fields: object) -> dict[str, object]:
    return {"class": CATALYST + kind, "num-children": children, **fields}


def test_an_expression_is_parsed_from_json() -> None:
    nodes = [
        node("Alias", 1, child=0, name="r", exprId={"id": 9, "jvmId": "x"}),
        node("Remainder", 2, left=0, right=1),
        node("AttributeReference", 0, name="a", dataType="long", exprId={"id": 7, "jvmId": "x"}),
        node("Cast", 1, child=0, dataType="long"),
        node("Literal", 0, value="2", dataType="integer"),
    ]
    expected = Expression(
        "Alias",
        (
            Expression(
                "Remainder",
                (
                    Expression("AttributeReference", text="a", type="long", id=7),
                    Expression("Cast", (Expression("Literal", text="2", type="integer"),), type="long"),
                ),
            ),
        ),
        text="r",
        id=9,
    )
    parsed = parse_expression(nodes)
    assert parsed == expected
    assert render(parsed) == "(a % CAST(2 AS long))"


def test_columns_are_resolved_to_those_of_the_sources() -> None:
    first = project(source(a=1), alias(binary("Add", column("a", 1), literal(1)), "b", 2))
    second = project(Operator("SubqueryAlias", (first,)), column("b", 2), alias(column("b", 2), "c", 3))
    assert render(resolve(column("c", 3), (second,))) == "(a + 1)"
    assert render(resolve(column("elsewhere", 99), (second,))) == "elsewhere"


def test_a_column_of_a_union_stands_for_one_of_each_input() -> None:
    one, two = source("kafka.one", a=1), project(source("kafka.two", b=2, c=3), column("c", 3))
    union = Operator("Union", (one, two))
    assert render(resolve(column("a", 1), (union,))) == "union(a, c)"
    same = Operator("Union", (one, project(source(x=5, a=6), column("a", 6))))
    assert render(resolve(column("a", 1), (same,))) == "a"
