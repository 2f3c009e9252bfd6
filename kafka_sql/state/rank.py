"""Return the first rows of the keys of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from kafka_sql.spark.jvm import JavaObject, java_array, java_dataset
from kafka_sql.state.operators import call_operator, operator_classes
from kafka_sql.table.changelog import ROW_KIND_NAME

_CLASS: Final = "RankOperators"


@dataclass(frozen=True)
class RankOrder:
    """The ORDER BY of a Top-N. Of rows that are equal in it, the one that arrived first is the first one."""

    columns: Sequence[str]
    descending: Sequence[bool] = ()  # for each column
    nulls_first: Sequence[bool] = ()  # for each column
    last_is_first: bool = False  # whether the one that arrived last is the first one instead


def rank(
    rows: DataFrame,
    key: Sequence[str],
    columns: Sequence[str],
    order: RankOrder,
    ranks: range,
    *,
    arrival: str | None = None,
    has_changes: bool = False,
    has_rank: bool = True,
    returns_old_rows: bool = True,
) -> DataFrame:
    """Return the first rows of each key, as Flink's Rank does.

    Args:
        rows: rows, or changes with old rows.
        key: the columns of PARTITION BY; can be empty.
        columns: the columns that are kept, with those of ORDER BY.
        ranks: the ranks to return, from 1.
        arrival: see ``normalize``; None for the order in which rows are read.
        has_changes: whether ``rows`` are changes, with a row kind.
        has_rank: whether the rank is needed: a row whose rank changes is updated. Without it, rows enter and leave a
            set.
        returns_old_rows: whether the result has the -U rows.

    Returns:
        +I, -U, +U and -D for what a micro-batch changes. The columns are ``columns``, ``rank`` and the row kind.
    """
    kind = ROW_KIND_NAME if has_changes else None
    row_order, names, kept = _rank_arguments(rows, key, columns, order)
    bounds = (ranks.start, ranks.stop - 1)
    return call_operator(
        "rank", rows, names, kept, kind, arrival, row_order, *bounds, has_rank, returns_old_rows, owner=_CLASS
    )


def rank_windows(
    rows: DataFrame, key: Sequence[str], columns: Sequence[str], order: RankOrder, ranks: range, drops_late_rows: bool
) -> DataFrame:
    """Return the first rows of each window when the watermark closes it, as Flink's WindowRank does.

    Args:
        rows: rows that never change.
        key: the columns of PARTITION BY; the last one is the last instant of the window.
        columns: see ``rank``.
        ranks: see ``rank``.
        drops_late_rows: whether rows of closed windows are late. If not, an operator before has dropped them.

    Returns:
        the columns of ``rank``; the row kind is +I.
    """
    row_order, names, kept = _rank_arguments(rows, key, columns, order)
    return call_operator(
        "rankWindows", rows, names, kept, row_order, ranks.start, ranks.stop - 1, drops_late_rows, owner=_CLASS
    )


def keep_first(
    rows: DataFrame, key: Sequence[str], columns: Sequence[str], time: str | None, drops_late_rows: bool = True
) -> DataFrame:
    """Return the first row of each key, as Flink's Deduplicate does.

    Args:
        rows: rows that never change.
        key: the columns of PARTITION BY.
        columns: the columns that are kept, with the event time.
        time: the event time: the row with the least one is returned when the watermark passes it. Later rows and
            rows without a time are dropped. None for the row that arrived first.
        drops_late_rows: whether rows behind the watermark are dropped. Rows of an operator that waits for the
            watermark, too, are not late.

    Returns:
        the columns of ``rank``; the row kind is +I.
    """
    order = RankOrder([], [], []) if time is None else RankOrder([time], [False], [True])
    row_order, names, kept = _rank_arguments(rows, key, columns, order)
    return call_operator("keepFirst", rows, names, kept, row_order, drops_late_rows, owner=_CLASS)


def _rank_arguments(
    rows: DataFrame, key: Sequence[str], columns: Sequence[str], order: RankOrder
) -> tuple[JavaObject, JavaObject, JavaObject]:
    spark = rows.sparkSession
    names, kept, ordered = (java_array(spark, "String", part) for part in (key, columns, order.columns))
    flags = (java_array(spark, "boolean", part) for part in (order.descending, order.nulls_first))
    row_order = getattr(operator_classes(spark), _CLASS).rowOrder(
        java_dataset(rows), kept, ordered, *flags, order.last_is_first
    )
    return row_order, names, kept
