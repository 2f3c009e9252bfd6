"""Merge rows and changes into sessions: an operator of ``kafka_sql/state`` returns the rows when their session ends.

This is Flink's WindowTableFunction for SESSION. Spark merges sessions only as a part of an aggregate by the same key,
without DISTINCT, of rows that never change.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_sql import state
from kafka_sql.spark.catalyst import (
    Catalyst,
    Node,
    Plan,
    analyzed_plan,
    class_name,
    column_id,
    is_event_time,
    output,
    show,
)
from kafka_sql.spark.plan import Operator
from kafka_sql.sql.jobs.changelog.aggregate_calls import check_expressions
from kafka_sql.sql.jobs.changelog.relation import MakeError, Relation
from kafka_sql.sql.jobs.changelog.windows import waits_for_watermark
from kafka_sql.sql.jobs.checkpoints.fingerprint import describe_sessions
from kafka_sql.sql.rewrite.windows.subqueries import read_session_mark
from kafka_sql.table.changelog import ROW_KIND_NAME, ROW_ORDER_NAME


def session_keys(plan: Plan) -> list[str] | None:
    """Return the columns of PARTITION BY if an operator is a subquery whose sessions are to be merged, or None."""
    return read_session_mark(str(plan.alias())) if class_name(plan) == "SubqueryAlias" else None


def merge_sessions(
    catalyst: Catalyst,
    operator: Operator,
    session: Node,
    keys: Sequence[Node],
    changes: Relation,
    retracts: bool,
    unsupported: MakeError,
    used: frozenset[int] | None = None,
) -> Relation:
    """Return the rows of sessions, which never change.

    Args:
        operator: the description of the input, as the user wrote it.
        session: the column with Spark's session of each row. It gets the merged session.
        keys: the columns of PARTITION BY.
        changes: the input, with old rows and with the watermark.
        retracts: whether there are old rows.
        unsupported: returns the error for what is not supported.
        used: the ids of the columns that the state keeps; None for all.

    Raises:
        UnsupportedSqlError: a row that is retracted might not be found, or no watermark ends the sessions.
    """
    if not is_event_time(session):
        raise unsupported(
            "SESSION over a column without a watermark",
            "a session is known to have ended only when the watermark passes it. Declare WATERMARK FOR the column",
        )
    columns = [column for column in changes.columns if used is None or column_id(column) in used]
    if retracts:
        check_expressions(columns, changes, "SESSION windows over changes", unsupported)
    assert changes.row_kind is not None
    names = {column_id(column): f"c{i}" for i, column in enumerate(columns)}
    key_names = [f"k{i}" for i in range(len(keys))]
    order = [] if changes.row_order is None else [catalyst.column(changes.row_order).alias(ROW_ORDER_NAME)]
    rows = catalyst.dataframe(changes.plan).select(
        *(catalyst.column(column).alias(names[column_id(column)]) for column in columns),
        *(column.alias(name) for column, name in zip(catalyst.columns(keys), key_names, strict=True)),
        catalyst.column(changes.row_kind).alias(ROW_KIND_NAME),
        *order,
    )
    order_name = ROW_ORDER_NAME if order else None
    merged = analyzed_plan(
        state.session_windows(
            rows, key_names, names[column_id(session)], order_name, retracts, not waits_for_watermark(operator)
        )
    )
    items = [catalyst.alias(new, column) for new, column in zip(output(merged), columns, strict=False)]
    types = {column_id(column): str(column.dataType().simpleString()) for column in columns}
    described = describe_sessions(operator, types, list(map(show, keys)))
    return Relation(catalyst.project(items, merged), states=(*changes.states, described))
