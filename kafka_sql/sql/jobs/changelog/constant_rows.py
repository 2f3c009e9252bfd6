"""Read constant rows as a stream: in Flink, VALUES joined with a stream is a source that ends."""

from __future__ import annotations

from typing import Final

from kafka_sql.catalog.one_row_source import one_row
from kafka_sql.spark.catalyst import Catalyst, Plan, analyzed_plan, class_name, elements, output
from kafka_sql.sql.jobs.changelog.join import join_type_of

_CONSTANTS: Final = frozenset({"LocalRelation", "OneRowRelation", "Range", "ResolvedInlineTable"})
# the joins of Spark that keep no state if the left side is a stream, or the right side
_WITHOUT_STATE: Final = (("INNER", "LEFT", "SEMI", "ANTI"), ("INNER", "RIGHT"))


def reads_constants(join: Plan, are_insert_only: bool) -> bool:
    """Return whether a join of a stream needs its other side as a stream, too, and can have it: its rows are constant.

    Args:
        are_insert_only: whether the rows of the stream never change.
    """
    sides = elements(join.children())
    leaves = [leaf for side in sides if not side.isStreaming() for leaf in elements(side.collectLeaves())]
    if not {class_name(leaf) for leaf in leaves} <= _CONSTANTS:
        return False
    return not (are_insert_only and join_type_of(join) in _WITHOUT_STATE[0 if sides[0].isStreaming() else 1])


def stream_constants(catalyst: Catalyst, plan: Plan) -> Plan:
    """Return rows as a stream that returns them in its first micro-batch."""
    rows = catalyst.dataframe(plan)
    return catalyst.project(output(plan), analyzed_plan(one_row(rows.sparkSession).crossJoin(rows)))
