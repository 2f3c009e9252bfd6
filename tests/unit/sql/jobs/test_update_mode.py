"""Aggregates that may be written in update mode, and those whose deleted rows would stay in the table."""

from __future__ import annotations

import pytest

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.jobs.streaming_plan import Expression, Operator, parse_explained_plan
from kafka_sql.sql.jobs.update_mode import check_update_mode
from tests.unit.sql.jobs.plans import aggregate, alias, binary, column, count_of, join, literal, project, source, where

K, N = column("k", 1), column("n", 9)
COUNTS = aggregate(source(k=1, v=2), (K,), K, alias(count_of(literal(1)), "n", 9))
RESULT = (alias(K, "k"), alias(N, "n"))
MANY = binary("LessThan", N, literal(3))
STATIC = Operator("SubqueryAlias", is_streaming=False)


def check(plan: Operator, key: tuple[str, ...] = ("k",)) -> None:
    check_update_mode(Operator("Repartition", (project(plan, *RESULT),)), "t", key)


@pytest.mark.parametrize(
    "plan",
    [
        COUNTS,
        Operator("SubqueryAlias", (COUNTS,)),
        where(COUNTS, binary("LessThan", K, literal(3))),  # a group is in the result forever, or never
        aggregate(where(source(k=1, v=2), MANY), (K,), K, alias(count_of(literal(1)), "n", 9)),
        join(COUNTS, STATIC, binary("EqualTo", K, column("id", 20))),
        join(COUNTS, STATIC, None, "CROSS"),
        where(source(k=1, n=9), MANY),
        where(join(source(k=1), Operator("Aggregate", is_streaming=False), None), MANY),
    ],
)
def test_rows_that_are_overwritten(plan: Operator) -> None:
    check(plan)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (where(COUNTS, MANY), r"a filter \(HAVING or WHERE\) on the aggregate count\(1\) .*'row-kind'.* ELSE '-D'"),
        (where(project(COUNTS, *RESULT[:1], alias(N, "m", 10)), binary("Add", column("m", 10), K)), r"count\(1\)"),
        (where(COUNTS, Expression("Rand")), r"a filter .* on the aggregate rand\(\)"),
        (join(COUNTS, STATIC, binary("EqualTo", N, column("id", 20))), "a join over a streaming aggregate"),
        (Operator("GlobalLimit", (Operator("LocalLimit", (COUNTS,)),)), "LIMIT over a streaming aggregate"),
        (Operator("Distinct", (COUNTS,)), "DISTINCT over a streaming aggregate"),
        (Operator("Generate", (COUNTS,)), "a table-generating function .* over a streaming aggregate"),
        (aggregate(COUNTS, (N,), N), "another aggregate over a streaming aggregate"),
        (Operator("Union", (source(k=1, n=9), where(COUNTS, MANY))), "a filter"),
    ],
)
def test_rows_that_would_stay_in_the_table(plan: Operator, message: str) -> None:
    with pytest.raises(UnsupportedSqlError, match=rf"INSERT INTO 't': .*{message}"):
        check(plan)


def test_a_key_that_changes_would_leave_the_previous_row() -> None:
    with pytest.raises(UnsupportedSqlError, match=r"PRIMARY KEY column 'n' is computed from the aggregate count\(1\)"):
        check(COUNTS, ("k", "n"))


EXPLAINED = """== Parsed Logical Plan ==
'Filter
== Analyzed Logical Plan ==
K: int, n: bigint
{}
== Optimized Logical Plan ==
Filter (n#3L < 3)
+- Aggregate [k#0], [k#0, count(1) AS n#3L]
"""
FILTERED = """Project [k#0]
+- {}
   +- ~Aggregate [k#0], [k#0, count(1) AS n#3L]
      +- SubqueryAlias t
         +- {} kafka.t, [k#0]"""
WITH = """WithCTE
:- CTERelationDef 7, false
:  +- SubqueryAlias c
:     +- Aggregate [k#0], [k#0, count(1) AS n#3L]
:        +- StreamingRelation kafka.t, [k#0]
+- Project [k#0]
   +- {}
      +- CTERelationRef 7, true, [k#0, n#3L], true"""


@pytest.mark.parametrize(
    ("text", "is_rejected"),
    [
        (FILTERED.format("Filter (n#3L < 3)", "StreamingRelationV2"), True),
        (FILTERED.format("Filter (n#3L < 3)", "Relation"), False),
        (FILTERED.format("SubqueryAlias x", "StreamingRelationV2"), False),
        (WITH.format("Filter (n#3L < 3)"), True),
        (WITH.format("SubqueryAlias x"), False),
    ],
)
def test_over_connect_every_filter_of_an_aggregate_is_rejected(text: str, is_rejected: bool) -> None:
    plan = parse_explained_plan(EXPLAINED.format(text))
    if not is_rejected:
        check_update_mode(plan, "t", ("k",))
        return
    with pytest.raises(UnsupportedSqlError, match=r"a filter .* on the aggregate is not supported"):
        check_update_mode(plan, "t", ("k",))
