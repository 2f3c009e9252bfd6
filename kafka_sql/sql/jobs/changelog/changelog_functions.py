"""Flink's TO_CHANGELOG and FROM_CHANGELOG: changes become rows with a column for the operation, and rows changes."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from kafka_sql.spark.catalyst import Catalyst, Plan, analyzed_plan, class_name, elements, output
from kafka_sql.spark.plan import Operator
from kafka_sql.sql.jobs.changelog.relation import MakeError, Mode, Relation
from kafka_sql.sql.rewrite.changelog_functions import FROM_CHANGELOG, TO_CHANGELOG, ChangelogFunction, read_mark
from kafka_sql.state import arrival_order
from kafka_sql.table.changelog import INSERT, KINDS, ROW_KIND_NAME, ROW_ORDER_NAME


def find_changelog_function(plan: Plan) -> tuple[ChangelogFunction, Plan] | None:
    """Return the call that an operator is, and the plan of its table; None for another operator."""
    function = read_mark(str(plan.alias())) if class_name(plan) == "SubqueryAlias" else None
    if function is None:
        return None
    while class_name(plan) != "Filter":  # that of the mark
        (plan,) = elements(plan.children())
    return function, plan.child()


def changelog_functions(plan: Operator) -> set[str]:
    """Return the names of the functions that a plan calls."""
    marks = (read_mark(operator.detail) for operator in plan.walk() if operator.name == "SubqueryAlias")
    return {function.name for function in marks if function is not None}


def to_changelog(catalyst: Catalyst, plan: Plan, function: ChangelogFunction, changes: Relation) -> Relation:
    """Return each change as a row that never changes, with the code of its row kind.

    Args:
        plan: the operator, whose first column is the one of the code.
        changes: rows, or changes with old rows. Those whose row kind has no code are dropped.
    """
    kind = F.lit(KINDS[INSERT]) if changes.row_kind is None else catalyst.column(changes.row_kind)
    rows = catalyst.dataframe(changes.plan)
    coded = analyzed_plan(rows.select(*catalyst.columns(changes.columns), _map(kind, function.mapping).alias("code")))
    (*columns, code) = output(coded)
    kept = analyzed_plan(catalyst.dataframe(coded).where(catalyst.column(code).isNotNull()))
    project = catalyst.project([catalyst.alias(code, output(plan)[0]), *columns], kept)
    return Relation(project, states=changes.states)


def from_changelog(
    catalyst: Catalyst, plan: Plan, function: ChangelogFunction, rows: Relation, unsupported: MakeError
) -> Relation:
    """Return each row as a change of the row kind that its code stands for. A row with another code fails the query.

    Raises:
        UnsupportedSqlError: the rows change, or the code is not a STRING.
    """
    if not rows.is_insert_only:
        raise unsupported(
            f"{FROM_CHANGELOG} of a table that changes",
            f"its rows must be changes themselves. Read the table directly, or write {FROM_CHANGELOG} of a view with "
            f"{TO_CHANGELOG}",
        )
    code_column = catalyst.find_column(plan, [function.op])
    if code_column is None or str(code_column.dataType().simpleString()) != "string":
        raise unsupported(f"{FROM_CHANGELOG} by '{function.op}'", "the operation must be a column of type STRING")
    code = catalyst.column(code_column)
    known = ", ".join(function.mapping)
    invalid = F.concat(F.lit(f"{FROM_CHANGELOG}: invalid operation "), F.coalesce(code, F.lit("NULL")))
    message = F.concat(invalid, F.lit(f" in column '{function.op}'. Expected one of: {known}."))
    kind = F.coalesce(_map(code, function.mapping), F.raise_error(message).cast("string"))
    dataframe = catalyst.dataframe(rows.plan)
    changes = dataframe.select(
        *catalyst.columns(rows.columns),
        kind.alias(ROW_KIND_NAME),
        arrival_order(dataframe.sparkSession).alias(ROW_ORDER_NAME),
    )
    changed = analyzed_plan(changes)
    row_kind, row_order = output(changed)[-2:]
    return Relation(changed, Mode.RETRACT, row_kind, row_order, states=rows.states)


def _map(value: Column, mapping: Mapping[str, str]) -> Column:
    """Return what a value stands for; NULL if it stands for nothing."""
    return F.coalesce(*(F.when(value == key, F.lit(text)) for key, text in mapping.items()))
