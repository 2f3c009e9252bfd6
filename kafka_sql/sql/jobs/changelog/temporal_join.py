"""Join streams with the versions of tables: a temporal join becomes an operator of ``kafka_sql/state``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafka_sql import state
from kafka_sql.spark.catalyst import (
    Attribute,
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
from kafka_sql.spark.plan_reader import read_operator
from kafka_sql.sql.jobs.changelog.relation import (
    Key,
    MakeError,
    Relation,
    all_references,
    keep_columns,
    key_column,
    references,
)
from kafka_sql.sql.jobs.changelog.temporal_join_marks import TemporalJoin
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json, describe_temporal_join
from kafka_sql.table.changelog import KINDS, ROW_KIND_NAME, ROW_ORDER_NAME, UPDATE_BEFORE

_TIME = "time"


@dataclass(frozen=True)
class Columns:
    """The columns of both tables that the state keeps."""

    left: Sequence[Attribute]
    right: Sequence[Attribute]


def join_versions(
    catalyst: Catalyst,
    join: TemporalJoin,
    left: Relation,
    right: Relation,
    needed: frozenset[int] | None,
    unsupported: MakeError,
) -> tuple[Relation, Json]:
    """Return the rows of a temporal join, and its state as in a fingerprint.

    Args:
        needed: the ids of the columns that the query uses; None for all. Others are not returned.
        left: the rows of the left table, with its watermark.
        right: the changes of the versioned table, with its watermark, and with the columns of the join.
        unsupported: returns the error for what is not supported.

    Raises:
        UnsupportedSqlError: Flink does not support the join, or Spark cannot execute it.
    """
    if not left.is_insert_only:
        raise unsupported(
            "FOR SYSTEM_TIME AS OF an event time for rows that change, such as those of a changelog or an aggregate,",
            "the state keeps only rows that were inserted. Join an insert-only table, or write the result of the join "
            "into a table and aggregate that",
        )
    if right.row_kind is None or right.key is None:
        raise unsupported(
            "FOR SYSTEM_TIME AS OF an event time over a table whose column METADATA FROM 'row-kind' shows its changes "
            "as rows",
            "such a table has no versions. Declare the table without this column",
        )
    version_time = _find_version_time(join, right, unsupported)
    time = _check_time(join, left, version_time, unsupported)
    pairs, others = _split_condition(join.condition, left, right.key)
    _check_key(join, pairs, right, unsupported)
    used = None if needed is None else needed | all_references(others)
    kept = Columns(keep_columns(output(left.plan), used), keep_columns(right.columns, used))
    rows = _left_rows(catalyst, time, left, kept.left, [pair[0] for pair in pairs])
    changes = _changes(catalyst, right, version_time, kept.right, [pair[1] for pair in pairs])
    keys = [f"k{i}" for i in range(len(pairs))]
    order = None if right.row_order is None else ROW_ORDER_NAME
    joined = state.join_versions(rows, changes, keys, _TIME, order, join.is_outer)
    described = describe_temporal_join(
        "LEFT OUTER" if join.is_outer else "INNER",
        [f"{show(mine)} = {show(theirs)}" for mine, theirs in pairs],
        (read_operator(left.plan), _types(kept.left)),
        (read_operator(right.plan), _types(kept.right)),
    )
    return Relation(_restore_columns(catalyst, joined, kept, others, join.is_outer)), described


def _types(columns: Sequence[Attribute]) -> dict[int, str]:
    return {column_id(column): _type(column) for column in columns}


def _find_version_time(join: TemporalJoin, right: Relation, unsupported: MakeError) -> Attribute:
    times = [column for column in right.columns if is_event_time(column)]
    if join.mark.key and join.mark.version_time not in [str(column.name()) for column in times]:
        raise unsupported(
            f"FOR SYSTEM_TIME AS OF {join.time_name} over a view that is ordered by {join.mark.version_time}",
            "this is not an event time. Use ROW_NUMBER() OVER (... ORDER BY time DESC) with the column of the "
            "WATERMARK of the view's table",
        )
    if len(times) != 1:
        raise unsupported(
            "FOR SYSTEM_TIME AS OF an event time over a table without one event time",
            "Spark does not know from which time a row is valid. Declare WATERMARK FOR a column of the table",
        )
    return times[0]


def _type(column: Attribute) -> str:
    return str(column.dataType().simpleString())


def _check_time(join: TemporalJoin, left: Relation, version_time: Attribute, unsupported: MakeError) -> Attribute:
    """Return the left table's time."""
    ids = [] if join.time is None else [column_id(join.time)]
    time = next((column for column in output(left.plan) if column_id(column) in ids), None)
    if time is None or not is_event_time(time):
        raise unsupported(
            f"FOR SYSTEM_TIME AS OF {join.time_name}",
            "the column is not the left table's time attribute. Use the column of its WATERMARK, not one that the "
            "query computes",
        )
    types = list(map(_type, (time, version_time)))
    if types[0] != types[1]:
        raise unsupported(
            f"FOR SYSTEM_TIME AS OF {join.time_name}",
            "Event-Time Temporal Table Join requires same rowtime type in left table and versioned table, but the "
            f"actual types are {types[0]} and {types[1]}. Declare both columns as TIMESTAMP, or both as TIMESTAMP_LTZ",
        )
    return time


def _split_condition(condition: Sequence[Node], left: Relation, key: Key) -> tuple[list[tuple[Node, Node]], list[Node]]:
    """Return the pairs of a left expression and the key's column that it is equal to, and the other conjuncts."""
    left_ids = frozenset(map(column_id, output(left.plan)))
    ids = frozenset().union(*key)
    pairs: list[tuple[Node, Node]] = []
    others: list[Node] = []
    for conjunct in condition:
        sides = (conjunct.left(), conjunct.right()) if class_name(conjunct) == "EqualTo" else ()
        for mine, theirs in (sides, sides[::-1]) if sides else ():
            is_new = key_column(theirs) not in [key_column(pair[1]) for pair in pairs]
            if references(mine) <= left_ids and key_column(theirs) in ids and is_new and mine.deterministic():
                pairs.append((mine, theirs))
                break
        else:
            others.append(conjunct)
    return pairs, others


def _check_key(join: TemporalJoin, pairs: Sequence[tuple[Node, Node]], right: Relation, unsupported: MakeError) -> None:
    joined = [key_column(pair[1]) for pair in pairs]
    assert right.key is not None
    if all(part.intersection(joined) for part in right.key):
        return
    ids = frozenset().union(*right.key)
    names = ", ".join(str(column.name()) for column in right.columns if column_id(column) in ids)
    condition = " AND ".join(map(show, join.condition)) or "none"
    raise unsupported(
        f"this condition of a join FOR SYSTEM_TIME AS OF {join.time_name}",
        f"Temporal table's primary key [{names}] must be included in the equivalence condition of temporal join, but "
        f"current temporal join condition is [{condition}]. Write ON left.column = right.{names.partition(',')[0]}, "
        "for each column of the key",
    )


def _left_rows(
    catalyst: Catalyst, time: Attribute, left: Relation, columns: Sequence[Attribute], keys: Sequence[Node]
) -> DataFrame:
    values = catalyst.columns(keys)
    # NULL is equal to nothing: a row without a time has no version
    has_key = reduce(lambda a, b: a & b, (value.isNotNull() for value in values))
    known_time = F.when(has_key, catalyst.column(time))
    return _inputs(catalyst, columns, left.plan, values, known_time, "l", [])


def _changes(
    catalyst: Catalyst, right: Relation, time: Attribute, columns: Sequence[Attribute], keys: Sequence[Node]
) -> DataFrame:
    assert right.row_kind is not None
    kind = catalyst.column(right.row_kind)
    hidden = [kind.alias(ROW_KIND_NAME)]
    if right.row_order is not None:
        hidden.append(catalyst.column(right.row_order).alias(ROW_ORDER_NAME))
    values = catalyst.columns(keys)
    rows = _inputs(catalyst, columns, right.plan, values, catalyst.column(time), "r", hidden)
    is_joined = [F.col(f"k{i}").isNotNull() for i in range(len(keys))]
    return rows.where(reduce(lambda a, b: a & b, is_joined, F.col(ROW_KIND_NAME) != KINDS[UPDATE_BEFORE]))


def _inputs(
    catalyst: Catalyst,
    columns: Sequence[Attribute],
    plan: Plan,
    keys: Sequence[Column],
    time: Column,
    prefix: str,
    hidden: Sequence[Column],
) -> DataFrame:
    return catalyst.dataframe(plan).select(
        *(catalyst.column(column).alias(f"{prefix}{i}") for i, column in enumerate(columns)),
        *(key.alias(f"k{i}") for i, key in enumerate(keys)),
        time.alias(_TIME),
        *hidden,
    )


def _restore_columns(
    catalyst: Catalyst, joined: DataFrame, kept: Columns, condition: Sequence[Node], is_outer: bool
) -> Plan:
    """Return the joined rows with the columns of both tables, and with their ids.

    A version that does not fulfill the rest of ON does not match.
    """
    sides = {"left": kept.left, "right": kept.right}
    flat = joined.select(
        *(F.col(f"{side}.{side[0]}{i}").alias(f"{side}{i}") for side, cs in sides.items() for i in range(len(cs)))
    )
    columns = [*sides["left"], *sides["right"]]
    replacements = list(zip(columns, output(analyzed_plan(flat)), strict=True))
    matches = [catalyst.column(catalyst.replace(conjunct, replacements)) for conjunct in condition]
    if matches and not is_outer:
        flat = flat.where(reduce(lambda a, b: a & b, matches))
    elif matches:
        matched = reduce(lambda a, b: a & b, matches)
        flat = flat.select(
            *(F.when(matched, flat[name]).alias(name) if name.startswith("right") else name for name in flat.columns)
        )
    plan = analyzed_plan(flat)
    count = len(sides["left"])
    # the result has one event time, that of the left table
    named = [c if i < count else catalyst.without_metadata(c) for i, c in enumerate(columns)]
    return catalyst.project([catalyst.alias(c, name) for c, name in zip(output(plan), named, strict=True)], plan)
