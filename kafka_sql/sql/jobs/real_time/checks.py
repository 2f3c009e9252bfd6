"""Check that real-time mode supports a query and the table that it writes, and prepare the query for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError, UnsupportedSqlError
from kafka_sql.realtime.checks import check_handler_class, check_sink
from kafka_sql.realtime.client_properties import java_properties
from kafka_sql.spark.catalyst import Catalyst, Plan, analyzed_plan
from kafka_sql.spark.jar import load_class
from kafka_sql.spark.plan import OPERATOR_NAMES, Expression, Operator
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.spark.stream_support import has_aggregate
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json

SPARK_SOURCE: Final = "kafka"
USE_MICRO_BATCHES: Final = "SET 'execution.latency-mode' = 'micro-batch' to run it in micro-batches"
# Spark's key and default, in milliseconds
_MIN_BATCH_DURATION: Final = ("spark.sql.streaming.realTimeMode.minBatchDuration", "5000")
# operators of analyzed plans; Spark allows more, which the tests do not cover
_SUPPORTED_OPERATORS: Final = frozenset(
    ("Filter", "Generate", "Join", "Project", "SubqueryAlias", "StreamingRelationV2", "Union", "View", "WithCTE")
) | {"CTERelationRef", "CTERelationDef"}  # _check_join checks joins
_AGGREGATES: Final = frozenset(("Aggregate", "Distinct"))
_WINDOW: Final = "PreciseTimestampConversion"  # Spark's function that computes a window's start and end
_SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
_OPERATOR_DESCRIPTIONS: Final = OPERATOR_NAMES | {
    "Aggregate": "an aggregate, a deduplication or a Top-N",
    "EventTimeWatermark": "a watermark",
    "Expand": "a sliding window",
    "Sort": "ORDER BY",
    "Window": "a window function",
}
_UNSUPPORTED_FUNCTIONS: Final = {
    "PythonUDF": "a Python function",
    "ScalarSubquery": "a subquery",
    "ListQuery": "a subquery",
}


def check_query(entry: CatalogTable, rows: DataFrame) -> None:
    """Check that real-time mode supports the table to write, and the operators of a query.

    Raises:
        UnsupportedSqlError: an operator or a function is not supported, or the session has too few cores.
        UnsupportedOptionError, SchemaError: see ``check_sink``.
        InvalidOptionError: the duration of a batch is too short.
    """
    check_sink(entry.definition)
    _check_interval(rows.sparkSession, entry.definition.name)
    plan = read_plan(rows)
    _check_plan(plan, entry.definition)
    if has_aggregate(plan):
        _check_cores(rows.sparkSession, entry.definition.name)


def prepare_query(rows: DataFrame, states: Sequence[Json], sink: str) -> DataFrame:
    """Return a query as Spark runs it in real-time mode.

    Raises:
        UnsupportedSqlError: it has such operators; or see ``prepare_operators``.
    """
    if states:
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink}': an aggregate function with DISTINCT, or another aggregate whose old rows are kept, "
            f"is not supported in real-time mode. {USE_MICRO_BATCHES}.",
            table=sink,
        )
    return prepare_operators(rows, sink)


def check_handler_classes(entry: CatalogTable, loader: Any) -> None:
    """Check that Java can load the classes that a table's properties name.

    Raises:
        UnsupportedOptionError: see ``check_handler_class``.
    """
    for key, value in java_properties(entry.definition).items():
        if key.endswith(".class"):
            check_handler_class(entry.definition, key, value, load_class(loader, value) is not None)


def _check_interval(spark: SparkSession, sink: str) -> None:
    interval = settings.read(spark, settings.CHECKPOINT_INTERVAL)
    minimum = int(spark.conf.get(*_MIN_BATCH_DURATION) or 0)
    if interval is not None and interval < minimum:
        key = settings.CHECKPOINT_INTERVAL.key
        raise InvalidOptionError(
            f"INSERT INTO '{sink}': '{key}' is {interval} ms, but a batch of real-time mode takes at least {minimum} "
            f"ms (Spark's '{_MIN_BATCH_DURATION[0]}'). It does not delay records: SET a longer one, or RESET '{key}'.",
            option=key,
            table=sink,
        )


def _check_cores(spark: SparkSession, sink: str) -> None:
    """Check that the tasks of an aggregate can run beside those of the sources. A cluster may get more cores."""
    context = spark.sparkContext
    partitions = int(spark.conf.get(_SHUFFLE_PARTITIONS) or 0)
    if str(context.master).startswith("local") and partitions >= context.defaultParallelism:
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink}': in real-time mode, each of the {partitions} partitions of an aggregate "
            f"('{_SHUFFLE_PARTITIONS}') and each partition of the sources needs a core, and the session has "
            f"{context.defaultParallelism}. SET 'parallelism.default' to fewer, start the session with more, such as "
            f"local[8], or {USE_MICRO_BATCHES}.",
            table=sink,
        )


def _check_plan(plan: Operator, definition: Definition) -> None:
    is_aggregated = has_aggregate(plan)
    supported = _SUPPORTED_OPERATORS | (_AGGREGATES if definition.is_upsert else frozenset())
    for operator in plan.walk():
        unsupported = None
        if not operator.children and operator.detail != SPARK_SOURCE:
            unsupported = f"the source '{operator.detail or operator.name}'"
        elif operator.name not in supported:
            unsupported = _OPERATOR_DESCRIPTIONS.get(operator.name, f"the operator {operator.name}")
        for part in operator.expressions:
            unsupported = unsupported or _UNSUPPORTED_FUNCTIONS.get(part.name)
            if is_aggregated and part.name == _WINDOW:
                unsupported = unsupported or "an aggregate over windows, whose rows are final,"
        if unsupported is not None:
            raise UnsupportedSqlError(
                f"INSERT INTO '{definition.name}': {unsupported} is not supported in real-time mode, which runs "
                "projections, filters, UNION ALL, LATERAL VIEW and joins with tables, and, into an 'upsert-kafka' "
                f"table, aggregates, deduplication and Top-N. {USE_MICRO_BATCHES}.",
                table=definition.name,
            )


_LEFT_STREAM: Final = frozenset(("INNER", "CROSS", "LEFT OUTER", "LEFT SEMI", "LEFT ANTI"))
_RIGHT_STREAM: Final = frozenset(("INNER", "CROSS", "RIGHT OUTER"))
# physical operators of other tables, of those that Spark's RealTimeModeAllowlist has
_OPERATORS: Final = frozenset(
    ("FileSourceScanExec", "FilterExec", "GenerateExec", "LocalTableScanExec", "ProjectExec", "RangeExec", "UnionExec")
)
_PYTHON_SOURCE: Final = "PythonTable"  # the class of the tables of Python data sources, such as Kafka tables


def prepare_operators(rows: DataFrame, sink: str) -> DataFrame:
    """Return a streaming query that broadcasts the tables that its streams join, and returns distinct rows once.

    Raises:
        UnsupportedSqlError: Spark does not support a join, or an operator of a table, in real-time mode.
    """
    operators = list(read_plan(rows).walk())
    if not any(operator.name in ("Distinct", "Join") for operator in operators):
        return rows
    for operator in operators:
        if operator.name == "Join":
            _check_join(operator, sink)
    catalyst = Catalyst(rows.sparkSession)
    plan = catalyst.broadcast_tables(analyzed_plan(rows), lambda table: _check_table(catalyst, table, sink))
    return catalyst.dataframe(plan)


def _check_join(join: Operator, sink: str) -> None:
    left, right = join.children
    if left.is_streaming and right.is_streaming:
        raise _error(sink, "a join of two streams")
    if join.detail not in (_LEFT_STREAM if left.is_streaming else _RIGHT_STREAM):
        side = "left" if left.is_streaming else "right"
        raise _error(sink, f"a {join.detail} JOIN with the stream on the {side} side")
    conditions = [] if join.condition is None else join.condition.conjuncts()
    if not any(_compares_sides(condition, left, right) for condition in conditions):
        raise _error(sink, "a join without an equality of a column of the stream and a column of the table")


def _compares_sides(condition: Expression, left: Operator, right: Operator) -> bool:
    """Return whether a condition is an equality of the two sides."""
    if condition.name not in ("EqualTo", "EqualNullSafe"):
        return False
    ids = [{column.id for column in side.output} for side in (left, right)]
    used = [side.references() for side in condition.children]
    return all(used) and any(a <= ids[0] and b <= ids[1] for a, b in (used, used[::-1]))


def _check_table(catalyst: Catalyst, table: Plan, sink: str) -> None:
    for name, table_class in catalyst.physical_operators(table):
        if name not in _OPERATORS and not (name == "BatchScanExec" and table_class == _PYTHON_SOURCE):
            found = "the scan of another data source" if name == "BatchScanExec" else f"the operator {name}"
            advice = "The table can be a Kafka table, consist of files, such as parquet, or of VALUES. Or "
            raise _error(sink, f"a join with {found}", advice)


def _error(sink: str, what: str, advice: str = "") -> UnsupportedSqlError:
    return UnsupportedSqlError(
        f"INSERT INTO '{sink}': {what} is not supported in real-time mode, which joins a stream with a table that is "
        f"broadcast. {advice}{USE_MICRO_BATCHES}.",
        table=sink,
    )
