"""Which filters of aggregates are rejected over Spark Connect."""

from __future__ import annotations

import pytest

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.explained_plan import parse_explained_plan
from kafka_sql.sql.jobs.checks.unsupported_operations import check_update_mode

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
        check_update_mode(plan, "t")
        return
    with pytest.raises(UnsupportedSqlError, match=r"'t': a filter .* over a streaming aggregate is not supported over"):
        check_update_mode(plan, "t")
