"""Find the INSERTs of a statement set that can share one read of a Kafka table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Final

from pyspark.sql import SparkSession

from kafka_sql.catalog.tables import CatalogTable
from kafka_sql.errors import CheckpointError
from kafka_sql.spark.context import spark_context
from kafka_sql.spark.plan import Expression, Operator, read_plan
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.changelog.relation import Mode
from kafka_sql.sql.jobs.checkpoints.checkpoint import Checkpoint, folder_name, locate
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json
from kafka_sql.sql.jobs.micro_batch.streaming import ContinuousQuery
from kafka_sql.sql.jobs.targets.shared_sink import SharedSink, Write, read_source
from kafka_sql.sql.jobs.targets.spark_table import Sink, SparkTable

# operators that neither keep rows nor read other tables
_STATELESS: Final = frozenset(
    {"EventTimeWatermark", "Filter", "Generate", "Project", "Repartition", "RepartitionByExpression"}
    | {"SubqueryAlias", "View"}
)
_SUBQUERIES: Final = frozenset({"Exists", "InSubquery", "LateralSubquery", "ListQuery", "ScalarSubquery"})
_SOURCE: Final = "StreamingRelation"  # beginning of the classes of streaming sources


def share_reads(
    spark: SparkSession, queries: Sequence[ContinuousQuery | None], names: Sequence[str]
) -> list[tuple[ContinuousQuery | None, str]]:
    """Replace the queries of a set that can share a read by one query, at the place of the first of them.

    INSERTs share a read if they only filter and compute rows of one table, if their sinks can write a micro-batch
    again without duplicates or are at-least-once anyway, and if they have no checkpoints of their own, from which they
    would resume.

    Args:
        queries: the continuous query of each INSERT; None for a batch.
        names: the name of each.

    Returns:
        the queries to start, with their names.

    Raises:
        CheckpointError: an INSERT that cannot share a read did so when the set ran before.
    """
    if spark_context(spark) is None:
        return list(zip(queries, names, strict=True))
    groups: dict[str, list[int]] = {}
    resuming = [
        query is not None and _has_offsets(spark, query, name) for query, name in zip(queries, names, strict=True)
    ]
    for number, query in enumerate(queries):
        if query is not None and not resuming[number] and _can_share(query):
            groups.setdefault(query.sources[0].provider, []).append(number)
    file_targets = [_location(query) for query in queries]
    shared: dict[int, list[int]] = {}
    for numbers in groups.values():
        unique = [n for n in numbers if file_targets[n] is None or file_targets.count(file_targets[n]) == 1]
        if len(unique) > 1:
            shared |= dict.fromkeys(unique, unique)
    combined: dict[int, tuple[ContinuousQuery, str]] = {}
    taken = list(names)
    for unique in shared.values():
        if unique[0] not in combined:
            query = _combine(spark, [q for n in unique if (q := queries[n]) is not None])
            taken.append(_free_name(spark, query.sources[0], taken))
            combined[unique[0]] = query, taken[-1]
    sinks = {name: query.sink_description for query, name in combined.values()}
    started: list[tuple[ContinuousQuery | None, str]] = []
    for number, (query, name) in enumerate(zip(queries, names, strict=True)):
        if number in combined:
            started.append(combined[number])
        elif number not in shared:
            if query is not None and not resuming[number]:
                _check_not_shared_before(spark, query, sinks)
            started.append((query, name))
    return started


def _combine(spark: SparkSession, queries: Sequence[ContinuousQuery]) -> ContinuousQuery:
    writes = [
        Write(query.target, query.rows) for query in queries if isinstance(query.target, (CatalogTable, SparkTable))
    ]
    return ContinuousQuery(SharedSink(writes), read_source(spark, writes), queries[0].sources, queries[0].is_bounded)


def _can_share(query: ContinuousQuery) -> bool:
    if query.changelog_mode is not Mode.INSERT_ONLY or query.is_updating or query.states or query.is_real_time:
        return False
    return len(query.sources) == 1 and _can_repeat(query.target) and _is_stateless(read_plan(query.rows), query)


def _can_repeat(target: object) -> bool:
    """Return whether a batch write of a micro-batch has the guarantee of the table's streaming sink."""
    if isinstance(target, SparkTable) and target.history is not None:
        return False
    if isinstance(target, SparkTable):
        return bool(target.primary_key) or target.sink is not Sink.STREAM or target.provider == "delta"
    return isinstance(target, CatalogTable) and not target.definition.is_exactly_once


def _is_stateless(plan: Operator, query: ContinuousQuery) -> bool:
    operators = list(plan.walk())
    leaf = operators[0]
    return (
        leaf.name.startswith(_SOURCE)
        and leaf.detail == query.sources[0].provider
        and all(operator.name in _STATELESS and len(operator.children) == 1 for operator in operators[1:])
        and not any(part.name in _SUBQUERIES for operator in operators for part in _expressions(operator))
    )


def _expressions(operator: Operator) -> Iterator[Expression]:
    expressions = (*operator.columns, *operator.keys, *filter(None, (operator.condition,)))
    return chain.from_iterable(expression.walk() for expression in expressions)


def _location(query: ContinuousQuery | None) -> str | None:
    """Return the folder of a file-based target, which one query can write."""
    target = query.target if query is not None else None
    return target.location if isinstance(target, SparkTable) and target.sink is Sink.FILES else None


def _has_offsets(spark: SparkSession, query: ContinuousQuery, name: str) -> bool:
    _, location = locate(spark, query.target_name, name)
    return Checkpoint(spark, location, query.target_name).has_offsets()


def shared_name(spark: SparkSession, source: CatalogTable) -> str:
    """Return the name of the query that reads a table for several INSERTs of a set."""
    pipeline = settings.read(spark, settings.PIPELINE_NAME)
    table = folder_name(source.definition.name)
    return f"{pipeline}/from_{table}" if pipeline else f"insert-from_{table}"


def _free_name(spark: SparkSession, source: CatalogTable, names: Sequence[str]) -> str:
    base = shared_name(spark, source)
    candidates = chain([base], (f"{base}-{number}" for number in count(2)))
    return next(name for name in candidates if name not in names)


def _check_not_shared_before(spark: SparkSession, query: ContinuousQuery, sinks: Mapping[str, Json]) -> None:
    """Check that an INSERT without its own checkpoint has not shared a read before: it would write rows again.

    Args:
        sinks: the sinks of the set's shared queries, by name.
    """
    for source in query.sources:
        name, location = locate(spark, query.target_name, shared_name(spark, source))
        checkpoint = Checkpoint(spark, location, query.target_name)
        stored: Json = (checkpoint.fingerprint() if checkpoint.has_offsets() else None) or {}
        sink = stored.get("sink")
        if isinstance(sink, dict) and sink != sinks.get(name) and f"'{query.target_name}'" in str(sink.get("name")):
            raise CheckpointError(
                f"INSERT INTO '{query.target_name}': the statement set ran before as query '{name}' for "
                f"{sink['name']}, whose checkpoint is '{checkpoint.location}'. Now this INSERT is a separate query, "
                "so it would write rows again. Run the statement set as it was when it wrote the checkpoint, or start "
                f"with a new checkpoint: SET another '{settings.PIPELINE_NAME.key}' or "
                f"'{settings.CHECKPOINT_DIR.key}'.",
                table=query.target_name,
            )
