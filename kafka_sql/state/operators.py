"""Apply stateful operators to a stream of changes.

A change is a row with its row kind (column ``__row_kind``: ``+I``, ``-U``, ``+U``, ``-D``). The changes of a key in a
micro-batch are applied in the order of a BIGINT column, such as the offset; with the same value, -U before +U.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import DataType, NumericType, StructField, StructType

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.context import is_pipeline, spark_context
from kafka_sql.spark.jar import add_jar, java_classes
from kafka_sql.spark.jvm import (
    JavaObject,
    from_java_column,
    from_java_dataset,
    java_array,
    java_dataset,
    java_expressions,
)
from kafka_sql.spark.session_settings import changed_settings, user_setting
from kafka_sql.table.changelog import ROW_KIND_NAME, ROW_ORDER_NAME

DEDUPLICATE: Final = "DEDUPLICATE"


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function of a GROUP BY."""

    # count, sum, avg, min, max; var_pop, var_samp, stddev_pop, stddev_samp of DOUBLE; min_by, max_by of a struct of an
    # order and a value; first, last, array, listagg of a struct of a value
    function: str
    argument: str | None  # a column; None for COUNT(*). NULL values are ignored.
    distinct: bool  # whether equal values count once
    name: str  # the column of the result
    type: DataType  # the type that Spark's own function returns
    separator: str = ""  # of listagg


def normalize(rows: DataFrame, key: Sequence[str], order: str | None, returns_old_rows: bool = True) -> DataFrame:
    """Add the old rows to a stream of upserts, as Flink's ChangelogNormalize does.

    Args:
        rows: upserts (+I or +U: the key's new row; -D: only the key's columns are needed). Rows of kind -U are ignored.
        key: the primary key.
        order: the column with the order of a key's changes; None if each key has at most one per micro-batch.
        returns_old_rows: whether the result has the -U rows.

    Returns:
        +I for a new key, -U (the old row) and +U for a changed row, -D with the old row. Nothing for a row that is
        equal to the old one, or for the deletion of an unknown key. The columns are those of ``rows``; the row kind
        and the order are the last ones.
    """
    keys = java_array(rows.sparkSession, "String", key)
    return call_operator("normalize", rows, keys, ROW_KIND_NAME, order, returns_old_rows)


def materialize(
    rows: DataFrame,
    key: Sequence[str],
    order: str | None,
    conflict: str = DEDUPLICATE,
    names: Sequence[str] | None = None,
) -> DataFrame:
    """Find the row of each key of a sink, as Flink's SinkUpsertMaterializer does.

    Args:
        rows: changes with old rows, in which several rows can have the same key.
        conflict: what to do with them. DEDUPLICATE: the newest row that was not deleted is the result. NOTHING: the
            first one is; others are forgotten. ERROR: the query fails if a key has several at the end of a micro-batch.
        names: the names of the key's columns for error messages; by default ``key``.

    Returns:
        at most one row per key and micro-batch: +I or +U with the row, or -D. The columns are those of ``normalize``.
    """
    keys, names = (java_array(rows.sparkSession, "String", part) for part in (key, names or key))
    return call_operator("materialize", rows, keys, ROW_KIND_NAME, order, names, conflict)


def aggregate(
    rows: DataFrame,
    keys: Sequence[str],
    calls: Sequence[AggregateCall],
    order: str | None = None,
    window_time: str | None = None,
    drops_late_rows: bool = True,
) -> DataFrame:
    """Aggregate changes: +I and +U add a row to its group, -U and -D retract it.

    Args:
        rows: changes with old rows.
        keys: the columns of GROUP BY; can be empty.
        order: the column with the order of changes, for functions that need it; None for that of arrival.
        window_time: the column of ``keys`` with the last instant of a group's window, if the groups have windows.
        drops_late_rows: whether rows of windows that have ended are late. They are not if they come from an operator
            that waits for the watermark, too.

    Returns:
        for each group whose result changed in a micro-batch: +I (new group), -U and +U (old and new result), or -D (no
        row is left). With windows: +I when the watermark passes the window. The columns are the keys, the results and
        the row kind.

    Raises:
        UnsupportedSqlError: a sum or an average of values that are not numbers.
    """
    for call in calls:
        type = rows.schema[call.argument].dataType if call.argument is not None else None
        if call.function in ("sum", "avg") and not isinstance(type, NumericType):
            raise UnsupportedSqlError(
                f"{call.function.upper()} of {type.simpleString() if type else '*'} over a changelog is not "
                "supported. Use a numeric type."
            )
    spark = rows.sparkSession
    return call_operator(
        "aggregate",
        rows,
        java_array(spark, "String", keys),
        java_array(spark, "String", [call.function for call in calls]),
        java_array(spark, "String", [call.argument for call in calls]),
        java_array(spark, "boolean", [call.distinct for call in calls]),
        java_array(spark, "String", [call.separator for call in calls]),
        StructType([StructField(call.name, call.type) for call in calls]).json(),
        ROW_KIND_NAME,
        order,
        window_time,
        drops_late_rows,
    )


def arrival_order(spark: SparkSession) -> Column:
    """Return the order in which rows arrive, as a BIGINT; see ``ArrivalOrder`` in Java.

    Raises:
        UnsupportedSqlError: the driver cannot load its class.
    """
    return from_java_column(operator_classes(spark).ChangelogOperators.arrivalOrder())


def session_windows(
    rows: DataFrame,
    key: Sequence[str],
    session: str,
    order: str | None,
    retracts: bool = True,
    drops_late_rows: bool = True,
) -> DataFrame:
    """Merge the windows of rows into sessions, as Flink's window function SESSION does.

    A row is returned when the watermark passes its session. It is not returned if it was retracted before, but the
    session remains as long as it was.

    Args:
        rows: changes with old rows.
        key: the columns of PARTITION BY; can be empty.
        session: the column with the session of each row alone: a struct of its time, and of its time plus the gap.
        order: see ``normalize``.
        retracts: whether there are old rows.
        drops_late_rows: whether rows of sessions that have ended are late; see ``aggregate``.

    Returns:
        rows with the columns of ``rows``, without the row kind and the order. ``session`` has the merged session.
    """
    keys = java_array(rows.sparkSession, "String", key)
    return call_operator("sessionWindows", rows, keys, session, ROW_KIND_NAME, order, retracts, drops_late_rows)


def join(
    left: DataFrame,
    right: DataFrame,
    key: Sequence[str],
    can_match: str,
    join_type: str,
    conditions: Sequence[JavaObject],
    is_insert_only: bool = False,
) -> DataFrame:
    """Join two streams of changes, as Flink's regular join does.

    Args:
        left: changes with old rows. Both sides have columns with the row kind and the order of changes.
        right: likewise; its other columns have other names than those of ``left``.
        key: columns of both, which are equal.
        can_match: the column of both that is false if a column of the key is NULL and equal to nothing.
        join_type: ``INNER``, ``LEFT``, ``RIGHT``, ``FULL``, ``SEMI``, ``ANTI``, or ``EXISTENCE``, which returns the
            rows of ``left`` with a column ``exists``: true, or NULL for a row without a match.
        conditions: the rest of the condition, expressions of Spark over columns of both sides.
        is_insert_only: whether the query runs in append mode, because no side has retractions.

    Returns:
        -D and +I for the rows of the result that a micro-batch removes and adds, first those that it removes. The
        columns are those of ``left`` and ``right`` without the key and without hidden ones, and the row kind.
    """
    spark = left.sparkSession
    hidden = {*key, can_match, ROW_KIND_NAME, ROW_ORDER_NAME}
    columns = [[name for name in rows.columns if name not in hidden] for rows in (left, right)]
    names = [java_array(spark, "String", part) for part in (key, *columns)]
    hidden_names = (ROW_KIND_NAME, ROW_ORDER_NAME, can_match)
    others = java_expressions(spark, conditions)
    arguments = (*names, *hidden_names, join_type, others, is_insert_only)
    return call_operator("join", left, java_dataset(right), *arguments)


def join_versions(
    left: DataFrame,
    right: DataFrame,
    key: Sequence[str],
    time: str,
    order: str | None,
    is_outer: bool,
) -> DataFrame:
    """Join each row with the version that was valid at its time, as Flink's event-time temporal join does.

    A row waits until the query's watermark passes its time. A version is valid from its time until that of the next
    version of its key; a later one with the same time replaces it. Versions that are no longer valid at the watermark
    are removed. A row that is behind the watermark joins the version that is still there.

    Args:
        left: the rows. Those without a time have no version.
        right: upserts, with a row kind (see ``normalize``); no -U. A deletion without a time has that of the change
            before it.
        key: columns of both, which are equal.
        time: a column of both, with the same type.
        order: see ``normalize``.
        is_outer: whether rows without a version are returned, with NULL.

    Returns:
        two structs: ``left`` with the columns of ``left``, and ``right`` with those of ``right`` (except the row kind
        and the order), or NULL. Key and time are omitted.
    """
    spark = left.sparkSession
    hidden = {*key, time, ROW_KIND_NAME, order}
    columns = [[name for name in rows.columns if name not in hidden] for rows in (left, right)]
    names = [java_array(spark, "String", part) for part in (key, *columns)]
    arguments = (java_dataset(right), names[0], time, *names[1:], ROW_KIND_NAME, order, is_outer)
    return call_operator("joinVersions", left, *arguments)


def call_operator(operator: str, rows: DataFrame, *arguments: Any, owner: str = "ChangelogOperators") -> DataFrame:
    """Call a static method of a Java class with a stream and further arguments, in Java or Python types.

    Args:
        owner: the class.

    Raises:
        UnsupportedSqlError: the driver cannot load its class.
    """
    spark = rows.sparkSession
    method = getattr(getattr(operator_classes(spark), owner), operator)
    return from_java_dataset(method(java_dataset(rows), *arguments), spark)


def operator_classes(spark: SparkSession) -> Any:
    """Return the package of the Java classes of operators.

    Raises:
        UnsupportedSqlError: the driver cannot load them.
    """
    context: Any = spark_context(spark)
    if context is None or is_pipeline():
        raise _no_java("over Spark Connect" if context is None else "in a pipeline")
    if add_jar(context) is None:
        raise _no_java("with this driver's class loaders")
    return java_classes(context).state


def _no_java(where: str) -> UnsupportedSqlError:
    return UnsupportedSqlError(
        "The query needs an operator in Java (changes with old rows, aggregates with retraction, or temporal joins), "
        f"which cannot be added to Spark {where}. Run the query in a classic session."
    )


_PROVIDER_CONF: Final = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_DEFAULTS: Final = {
    _PROVIDER_CONF: _ROCKSDB,
    # each micro-batch uploads what it changed, and not the files of the database
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def configure(spark: SparkSession, needs_rocksdb: bool = True) -> AbstractContextManager[None]:
    """Set the session's state store for a ``with`` block in which a query starts. What the user set stays.

    Spark's default store copies its rows for each micro-batch, so that its time grows with the state. A query continues
    with the store of its checkpoint.

    Args:
        needs_rocksdb: whether the query has operators of this package.

    Raises:
        UnsupportedSqlError: the user set another state store, which such operators do not support.
    """
    provider = user_setting(spark, _PROVIDER_CONF)
    if provider not in (None, _ROCKSDB):
        if not needs_rocksdb:
            return nullcontext()
        raise UnsupportedSqlError(
            f"{_PROVIDER_CONF} = {provider}: a query over a changelog keeps old rows or values in the state, for which "
            f"Spark needs RocksDB. Remove the setting, or set it to {_ROCKSDB}."
        )
    added = {key: value for key, value in _DEFAULTS.items() if user_setting(spark, key) is None}
    return changed_settings(spark, added)
