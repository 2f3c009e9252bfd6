"""Describe for EXPLAIN how the rows of a continuous query change, and which state it keeps."""

from __future__ import annotations

import re
from typing import Final

from kafka_sql.definition import Definition
from kafka_sql.spark.catalyst import Catalyst
from kafka_sql.spark.plan import read_plan
from kafka_sql.sql.jobs.changelog.relation import Mode
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json, describe_operators
from kafka_sql.sql.jobs.job_plan import JobPlan
from kafka_sql.table.changelog import ROW_KIND, ROW_KIND_NAME, ROW_ORDER_NAME

_LISTED_ORDER: Final = re.compile(rf", {ROW_ORDER_NAME}(?:#\d+L?)?(?=[,\]])")  # after the row kind


def describe_changelog(plan: JobPlan) -> str:
    """Return the changelog modes of a query's sources and of its result, in Flink's notation, and its state.

    For example::

        == Changelog ==
        default.products: changelogMode=[I,UB,UA,D]
        INSERT INTO default.totals: changelogMode=[I,UA,D]
        State: aggregation (grouping: name)
    """
    sources = {source.definition.name: _source_mode(source.definition) for source in plan.sources}
    lines = [f"{name}: changelogMode={mode}" for name, mode in sources.items()]
    lines.append(f"INSERT INTO {plan.sink_name}: changelogMode={plan.changelog_mode}")
    states = [_describe_state(operator) for operator in describe_operators(read_plan(plan.stream), plan.states)]
    lines.append(f"State: {', '.join(states) or 'none'}")
    return "\n".join(["== Changelog ==", *lines])


def explain_rows(plan: JobPlan, mode: str) -> str:
    """Return Spark's plan of the rewritten query.

    Args:
        mode: a mode of Spark's EXPLAIN, or empty.
    """
    return name_hidden_columns(Catalyst(plan.stream.sparkSession).explain(plan.stream, mode.lower() or "simple"))


def name_hidden_columns(plan: str) -> str:
    """Return a plan in which the row kind has the name of Flink's metadata, and which does not list the order of rows.

    The order stays where an expression uses it.
    """
    plan = _LISTED_ORDER.sub("", plan)
    return plan.replace(ROW_KIND_NAME, ROW_KIND).replace(ROW_ORDER_NAME, "row-order")


def _source_mode(definition: Definition) -> Mode:
    if definition.has_row_kind_column or not definition.has_changes:
        return Mode.INSERT_ONLY
    return Mode.UPSERT if definition.is_upsert else Mode.RETRACT


def _describe_state(operator: Json) -> str:
    columns = [column for field in ("window", "grouping", "keys") for column in operator.get(field, [])]
    table = f"{operator['table']}: " if "table" in operator else ""
    return f"{operator['operator']} ({table}{', '.join(columns)})" if columns else str(operator["operator"])
