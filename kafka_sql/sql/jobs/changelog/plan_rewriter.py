"""Rewrite the analyzed plan of a continuous query over changelogs.

Spark's streams are append-only. So changes are read as rows with a row kind in a hidden last column, and each operator
is rewritten so that it passes the row kind on, or computes it. What is not known to be right is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Final

from pyspark.sql import functions as F

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.catalyst import (
    Catalyst,
    Node,
    Plan,
    analyzed_plan,
    class_name,
    column_id,
    elements,
    is_event_time,
    is_session,
    output,
    show,
)
from kafka_sql.spark.plan import OPERATOR_NAMES, STREAM, Operator
from kafka_sql.spark.plan_reader import read_operator
from kafka_sql.spark.stream_support import groups_by_event_time, supports_join
from kafka_sql.sql.jobs.changelog.aggregate_calls import has_distinct, is_linear
from kafka_sql.sql.jobs.changelog.aggregate_functions import needs_arrival_order
from kafka_sql.sql.jobs.changelog.join import join_changes, join_type_of, merge_filter
from kafka_sql.sql.jobs.changelog.join_versions import join_versions
from kafka_sql.sql.jobs.changelog.relation import (
    Mode,
    Relation,
    group_key,
    has_aggregate,
    is_fixed,
    is_varying,
    map_columns,
    project_fixed,
    project_key,
    project_of_change,
    project_of_record,
    project_varying,
    references,
    source_mode,
)
from kafka_sql.sql.jobs.changelog.spark_aggregate import aggregate_signed_rows
from kafka_sql.sql.jobs.changelog.stateful_aggregate import aggregate_with_old_rows
from kafka_sql.sql.jobs.changelog.temporal_joins import (
    TemporalJoin,
    find_temporal_join,
    has_temporal_join,
)
from kafka_sql.sql.jobs.changelog.upsert_operators import add_old_rows
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json, describe_aggregate, describe_normalization
from kafka_sql.sql.rewrite.row_numbers import TOP_ROWS
from kafka_sql.state import arrival_order
from kafka_sql.table.changelog import DELETE, INSERT, KINDS, ROW_KIND_NAME, ROW_ORDER_NAME, UPDATE_AFTER

# operators that return the rows of their input
_TRANSPARENT: Final = frozenset({"CollectMetrics", "ResolvedHint", "SubqueryAlias", "View"})
# operators that only matter for the speed, or for operators that are rejected over changes
_REMOVED: Final = frozenset({"EventTimeWatermark", "RebalancePartitions", "Repartition", "RepartitionByExpression"})
_OPERATOR_DESCRIPTIONS: Final = {
    **OPERATOR_NAMES,
    "Expand": "a sliding window, GROUPING SETS, CUBE or ROLLUP",
    "Sort": "ORDER BY",
    "Window": "a window function (OVER)",
}

# metadata that all records of a row have in common
_METADATA_OF_ROWS: Final = frozenset(
    {"topic", "partition", "kafka_cluster"}
    | {f"value.{name}" for name in ("database", "pk-names", "primary-key-columns", "primary-keys", "sql-type", "table")}
    | {f"value.source.{name}" for name in ("database", "schema", "table")}
)

ReadChanges = Callable[[CatalogTable], Plan]  # returns the plan of a table's changes; its last columns are hidden


class OldRowsNeededError(Exception):
    """An operator needs the old rows of an upsert table."""


class PlanRewriter:
    """Rewrites the plan of one query."""

    def __init__(
        self,
        catalyst: Catalyst,
        sink: str,
        sources: Mapping[str, CatalogTable],
        read_changes: ReadChanges,
        needed_columns: Mapping[frozenset[int], frozenset[int] | None],
        keeps_old_rows: bool,
    ) -> None:
        """Prepare a rewrite.

        Args:
            sink: the table that the query writes, for messages.
            sources: the Kafka tables that it reads as streams, by provider.
            needed_columns: for each join, by all its columns, those that the query uses; None for all.
            keeps_old_rows: whether old rows are added to the changes of upsert tables, and aggregates return the old
                rows of their groups.
        """
        self.catalyst, self._sink, self._sources, self._read_changes = catalyst, sink, sources, read_changes
        self._keeps_old_rows, self._reads_versions = keeps_old_rows, False
        self._is_aggregated = False  # whether an updating aggregate above reads the rows
        self._needed_columns = needed_columns
        self.states: list[Json] = []  # the stateful operators of this package, as for a fingerprint
        self._definitions: dict[int, Plan] = {}  # common table expressions (WITH)

    def rewrite(self, plan: Plan) -> Relation:
        """Return the rows of an operator.

        Raises:
            UnsupportedSqlError: the result would be wrong, or it is not known whether it would be right.
        """
        name = class_name(plan)
        if name == "WithCTE":
            self._definitions |= {d.id(): d.child() for d in elements(plan.cteDefs())}
            return self.rewrite(plan.plan())
        if name == "CTERelationRef":
            return self._rewrite_reference(plan)
        if not plan.isStreaming():
            return Relation(plan)
        if name.startswith(STREAM):
            return self._rewrite_source(plan)
        temporal_join = find_temporal_join(self.catalyst, plan)
        if temporal_join is not None:
            needed = self._needed_columns.get(frozenset(map(column_id, output(plan))))
            return self._rewrite_temporal_join(temporal_join, needed)
        merged = merge_filter(self.catalyst, plan)
        if merged is not None:
            return self.rewrite(merged)
        inputs = self._rewrite_inputs(plan)
        if name == "Aggregate":
            return self._rewrite_aggregate(plan, inputs[0])
        if name == "Join" and self._needs_state(plan, inputs):
            return self._join(plan, inputs)
        if all(relation.is_insert_only for relation in inputs):
            return Relation(self._with_inputs(plan, inputs))
        if name in _TRANSPARENT:
            return inputs[0]
        if name == "EventTimeWatermark" and self._reads_versions:
            return replace(inputs[0], plan=self._with_inputs(plan, inputs))
        if name in _REMOVED:
            return inputs[0]
        rewrite_operator = {
            "Project": self._rewrite_project,
            "Filter": self._rewrite_filter,
            "Distinct": self._rewrite_distinct,
            "Generate": self._rewrite_generate,
            "Union": self._rewrite_union,
            "Join": self._rewrite_join,
        }.get(name)
        if rewrite_operator is None:
            raise self._unsupported_operator(plan, inputs)
        return rewrite_operator(plan, inputs)

    def _rewrite_inputs(self, plan: Plan) -> list[Relation]:
        """Return the inputs of an operator."""
        rewriter = self
        if class_name(plan) == "Aggregate" and not groups_by_event_time(self._read(plan)):
            rewriter = copy(self)
            rewriter._is_aggregated = True
        return [rewriter.rewrite(child) for child in elements(plan.children())]

    def _needs_state(self, plan: Plan, inputs: Sequence[Relation]) -> bool:
        """Return whether a join of streams is not one of Spark: rows change, or Spark does not support it."""
        if not all(child.isStreaming() for child in elements(plan.children())):
            return False
        if self._is_aggregated or not all(relation.is_insert_only for relation in inputs):
            return True
        return not supports_join(self.catalyst.dataframe(self._with_inputs(plan, inputs)))

    def _with_inputs(self, plan: Plan, inputs: Sequence[Relation]) -> Plan:
        plans = [relation.plan for relation in inputs]
        if all(new.equals(old) for new, old in zip(plans, elements(plan.children()), strict=True)):
            return plan
        return self.catalyst.with_inputs(plan, plans)

    def _rewrite_reference(self, plan: Plan) -> Relation:
        """Replace a reference to a common table expression with its query."""
        if plan.cteId() not in self._definitions:
            return Relation(plan)
        definition = self.rewrite(self._definitions[plan.cteId()])
        columns = definition.columns
        aliases = [self.catalyst.alias(column, named) for column, named in zip(columns, output(plan), strict=True)]
        ids = {column_id(column): column_id(named) for column, named in zip(columns, aliases, strict=True)}
        return self._project(definition, aliases, ids)

    def _project(self, relation: Relation, items: Sequence[Node], ids: Mapping[int, int]) -> Relation:
        """Return columns of a relation under other ids."""
        return replace(
            relation,
            plan=self.catalyst.project([*items, *relation.hidden], relation.plan),
            key=relation.key and tuple(map_columns(ids, part) for part in relation.key),
            fixed=map_columns(ids, relation.fixed),
            varying=map_columns(ids, relation.varying),
            of_record=map_columns(ids, relation.of_record),
            of_change=map_columns(ids, relation.of_change),
        )

    def _rewrite_source(self, plan: Plan) -> Relation:
        """Read the changes of a table instead of its rows."""
        entry = self._sources.get(str(plan.sourceName()))
        definition = entry.definition if entry is not None else None
        if entry is None or definition is None or not definition.reads_content:
            return Relation(plan)
        changes = self._read_changes(entry)
        *columns, row_kind, row_order = output(changes)
        declared = {str(column.name()): column for column in columns}
        named = output(plan)
        items = [self.catalyst.alias(declared[str(column.name())], column) for column in named]
        ids = {str(column.name()): column_id(column) for column in named}
        primary_key = definition.table.primary_key
        key = tuple(frozenset({ids[name]}) for name in primary_key)
        metadata = {ids[c.name]: c.metadata for c in definition.table.columns if c.metadata and c.name in ids}
        relation = Relation(
            self.catalyst.project([*items, row_kind, row_order], changes),
            source_mode(definition),
            row_kind,
            row_order,
            key or None,
            frozenset().union(*key),
            of_record=frozenset(metadata),
            of_change=frozenset()
            if definition.is_upsert
            else frozenset(id for id, name in metadata.items() if name not in _METADATA_OF_ROWS),
        )
        if definition.is_upsert and self._keeps_old_rows:
            self.states.append(describe_normalization(definition))
            return add_old_rows(self.catalyst, relation)
        return relation

    def _rewrite_project(self, plan: Plan, inputs: Sequence[Relation]) -> Relation:
        (relation,) = inputs
        items = elements(plan.projectList())
        return replace(
            relation,
            plan=self.catalyst.project([*items, *relation.hidden], relation.plan),
            key=project_key(items, relation.key),
            fixed=project_fixed(items, relation.fixed),
            varying=project_varying(items, relation.varying),
            of_record=project_of_record(items, relation.of_record),
            of_change=project_of_change(items, relation.of_change),
        )

    def _rewrite_filter(self, plan: Plan, inputs: Sequence[Relation]) -> Relation:
        """Filter old and new rows; of a relation without old rows, turn rows that do not pass into deletes."""
        (relation,) = inputs
        condition = plan.condition()
        if is_varying(condition, relation.varying):
            raise self.unsupported(
                f"the filter {show(condition)} {self._over(relation)}",
                "a row that was accepted may have to be deleted later without having changed. Remove the filter, and "
                "apply it when the table is read",
            )
        if relation.mode == Mode.RETRACT or is_fixed(condition, relation.fixed):
            change_filter = show(condition) if references(condition) & relation.of_change else relation.change_filter
            filtered = self.catalyst.with_inputs(plan, [relation.plan])
            return replace(relation, plan=filtered, change_filter=change_filter)
        passes = self.catalyst.column(condition)
        kept, deleted = F.lit(KINDS[UPDATE_AFTER]), F.lit(KINDS[DELETE])
        if relation.row_kind is None:
            row_kind = F.when(passes, kept).otherwise(deleted)
        else:
            old = self.catalyst.column(relation.row_kind)
            row_kind = F.when(old == KINDS[DELETE], deleted).when(passes, old).otherwise(deleted)
        rows = self.catalyst.dataframe(relation.plan)
        order = [] if relation.row_order is None else [relation.row_order]
        filtered = analyzed_plan(
            rows.select(
                *self.catalyst.columns(relation.columns),
                row_kind.alias(ROW_KIND_NAME),
                *self.catalyst.columns(order),
            )
        )
        return replace(
            relation,
            plan=filtered,
            row_kind=output(filtered)[len(relation.columns)],
            has_unknown_deletes=not relation.is_aggregated,
        )

    def _rewrite_aggregate(self, plan: Plan, relation: Relation) -> Relation:
        groupings, items = elements(plan.groupingExpressions()), elements(plan.aggregateExpressions())
        if any(map(is_session, groupings)) and not (relation.is_insert_only and any(map(is_event_time, groupings))):
            raise self.unsupported(
                "an aggregate of SESSION windows over changes, or over PROCTIME(),",
                "a row that connects two sessions merges them, which only Spark's own aggregate of rows with a "
                "watermark does. Write the rows into a table without changes and with a WATERMARK, and aggregate that; "
                "use TUMBLE, HOP or CUMULATE; or aggregate the sessions in a batch query",
            )
        if relation.is_insert_only and self.states and groups_by_event_time(self._read(plan)):  # over a temporal join
            return Relation(self._with_inputs(plan, [relation]))
        if relation.is_insert_only and (self._keeps_old_rows or has_distinct(items) or needs_arrival_order(items)):
            relation = self._with_inserts(relation)
        if relation.mode == Mode.RETRACT:
            return self._aggregate(plan, relation, groupings, items)
        if not relation.is_insert_only:
            raise self.old_rows_needed(relation)
        # all groups stay, and Spark returns each one that has changed
        return Relation(
            self._with_inputs(plan, [relation]),
            Mode.UPSERT,
            key=group_key(groupings, items),
            fixed=frozenset(column_id(item) for item in items if not has_aggregate(item)),
            is_aggregated=True,
        )

    def _rewrite_distinct(self, plan: Plan, inputs: Sequence[Relation]) -> Relation:
        (relation,) = inputs
        if relation.mode != Mode.RETRACT:
            raise self.old_rows_needed(relation)
        return self._aggregate(plan, relation, relation.columns, relation.columns)

    def _aggregate(self, plan: Plan, relation: Relation, groupings: Sequence[Node], items: Sequence[Node]) -> Relation:
        if self._keeps_old_rows or self.states or not is_linear(items):
            self.states.append(describe_aggregate(self._read(plan)))
            return aggregate_with_old_rows(self.catalyst, relation, groupings, items, self.unsupported)
        return aggregate_signed_rows(self.catalyst, relation, groupings, items, self.unsupported)

    def _rewrite_generate(self, plan: Plan, inputs: Sequence[Relation]) -> Relation:
        (relation,) = inputs
        if relation.row_kind is None and relation.key is not None and _is_top_n(plan.generator()):
            # a group never has fewer rows than before, so each position is only overwritten
            position = column_id(elements(plan.generatorOutput())[0])
            return replace(
                relation,
                plan=self._with_inputs(plan, inputs),
                key=(*relation.key, frozenset({position})),
                fixed=relation.fixed | {position},
            )
        if relation.is_aggregated or is_varying(plan.generator(), relation.varying):
            raise self._unsupported_operator(plan, inputs)
        if relation.mode != Mode.RETRACT:
            raise self.old_rows_needed(relation)
        generated = self.catalyst.with_inputs(plan, [relation.plan])
        hidden = {column_id(column) for column in relation.hidden}
        columns = [column for column in output(generated) if column_id(column) not in hidden]
        plan = self.catalyst.project([*columns, *relation.hidden], generated)
        return replace(relation, plan=plan, key=None, fixed=frozenset())

    def _rewrite_union(self, plan: Plan, inputs: Sequence[Relation]) -> Relation:
        """Return the rows of all inputs. No columns identify a row any more."""
        modes = {relation.mode for relation in inputs}
        is_aggregated = any(relation.is_aggregated for relation in inputs)
        ids = [[column_id(column) for column in output(relation.plan)] for relation in inputs]
        columns = output(plan)
        are_fixed = frozenset(
            column_id(column)
            for i, column in enumerate(columns)
            if all(relation.is_insert_only or ids[n][i] in relation.fixed for n, relation in enumerate(inputs))
        )
        if all(relation.row_kind is None for relation in inputs):
            return Relation(self._with_inputs(plan, inputs), Mode.UPSERT, fixed=are_fixed, is_aggregated=is_aggregated)
        if modes - {Mode.INSERT_ONLY, Mode.RETRACT}:
            raise self.old_rows_needed(inputs[0])
        relations = [self._with_inserts(relation) if relation.is_insert_only else relation for relation in inputs]
        union = self.catalyst.with_inputs(plan, [relation.plan for relation in relations])
        row_kind, row_order = output(union)[-2:]

        def any_of(ids: Callable[[Relation], frozenset[int]]) -> frozenset[int]:
            return frozenset(
                column_id(column)
                for i, column in enumerate(output(union))
                if any(column_id(output(relation.plan)[i]) in ids(relation) for relation in relations)
            )

        varying, of_change = any_of(lambda relation: relation.varying), any_of(lambda relation: relation.of_change)
        change_filter = next((relation.change_filter for relation in relations if relation.change_filter), None)
        return Relation(
            union,
            Mode.RETRACT,
            row_kind,
            row_order,
            varying=varying,
            of_change=of_change,
            change_filter=change_filter,
        )

    def _with_inserts(self, relation: Relation) -> Relation:
        """Return rows that never change with the row kind +I."""
        rows = self.catalyst.dataframe(relation.plan)
        row_kind = F.lit(KINDS[INSERT]).alias(ROW_KIND_NAME)
        row_order = arrival_order(rows.sparkSession).alias(ROW_ORDER_NAME)
        plan = analyzed_plan(rows.select(*self.catalyst.columns(output(relation.plan)), row_kind, row_order))
        return Relation(plan, Mode.RETRACT, *output(plan)[-2:])

    def _join(self, plan: Plan, inputs: Sequence[Relation]) -> Relation:
        """Join two streams, of which at least one changes."""
        for relation in inputs:
            if relation.mode not in (Mode.INSERT_ONLY, Mode.RETRACT):
                raise self.old_rows_needed(relation)
        left, right = (self._with_inserts(side) if side.is_insert_only else side for side in inputs)
        needed = self._needed_columns.get(frozenset(map(column_id, output(plan))))
        are_insert_only = not self._is_aggregated and all(relation.is_insert_only for relation in inputs)
        relation, described = join_changes(self.catalyst, plan, left, right, needed, self.unsupported, are_insert_only)
        self.states.append(described)
        return relation

    def _rewrite_join(self, plan: Plan, inputs: Sequence[Relation]) -> Relation:
        """Keep the join of an aggregate with a static table on columns that do not change."""
        changing = next(relation for relation in inputs if not relation.is_insert_only)
        static = [relation for relation in inputs if not relation.plan.isStreaming()]
        condition = plan.condition().get() if plan.condition().isDefined() else None
        static_ids = frozenset(column_id(column) for relation in static for column in output(relation.plan))
        fixed = changing.fixed | static_ids
        if changing.row_kind is not None or not static or (condition is not None and not is_fixed(condition, fixed)):
            raise self._unsupported_operator(plan, inputs)
        if join_type_of(plan) != "LEFT" and any(_may_change(relation.plan) for relation in static):
            raise self.unsupported(
                "a join of a streaming aggregate with a table that may change",
                "a group that no longer has a row in the table would stay in the result. Use LEFT JOIN, or join before "
                "the aggregate",
            )
        return replace(changing, plan=self._with_inputs(plan, inputs), key=None, fixed=fixed)

    def _rewrite_temporal_join(self, join: TemporalJoin, needed: frozenset[int] | None) -> Relation:
        if has_temporal_join(self._read(join.left)):
            raise self.unsupported(
                "a join FOR SYSTEM_TIME AS OF an event time with the result of another one",
                "Spark's watermark is the same for both. Write the result of the first join into a table with a "
                "WATERMARK, and join that",
            )
        left = self.rewrite(join.left)
        right = self._for_versions().rewrite(join.versions)
        if join.mark.key and right.is_insert_only:
            right = self._with_inserts(right)
            ids = {str(column.name()): column_id(column) for column in right.columns}
            right = replace(right, key=tuple(frozenset({ids[name]}) for name in join.mark.key))
        relation, described = join_versions(self.catalyst, join, left, right, needed, self.unsupported)
        self.states.append(described)
        return relation

    def _for_versions(self) -> PlanRewriter:
        """Return a rewriter for the versions of a temporal join: without old rows, and with their watermark."""
        rewriter = copy(self)
        rewriter._keeps_old_rows, rewriter._reads_versions = False, True
        return rewriter

    def _read(self, plan: Plan) -> Operator:
        return read_operator(plan, self._definitions)

    def old_rows_needed(self, relation: Relation) -> OldRowsNeededError | UnsupportedSqlError:
        """Return the error for rows whose old versions are unknown.

        It is an OldRowsNeededError if a rewrite that keeps old rows would know them, and an UnsupportedSqlError if this
        is such a rewrite, but the rows, for example those of a join or a union, have no key.
        """
        if not self._keeps_old_rows and not self._reads_versions:
            return OldRowsNeededError()
        return self.unsupported(
            f"this query {self._over(relation)}",
            "the old row of an update is unknown. Write the rows of the aggregate into an 'upsert-kafka' table first",
        )

    def unsupported(self, what: str, why: str) -> UnsupportedSqlError:
        """Return the error for a query that cannot be made right."""
        return UnsupportedSqlError(
            f"INSERT INTO '{self._sink}': {what} is not supported, because {why}.", table=self._sink
        )

    def _unsupported_operator(self, plan: Plan, inputs: Sequence[Relation]) -> UnsupportedSqlError:
        relation = next(relation for relation in inputs if not relation.is_insert_only)
        name = _OPERATOR_DESCRIPTIONS.get(class_name(plan), f"the operator {class_name(plan)}")
        advice = "Write its input into a table, and apply the rest of the query when the table is read"
        if class_name(plan) == "Join" and not relation.is_aggregated:
            advice = (
                "Join the current rows in a batch: SET 'execution.runtime-mode' = 'batch'. Or write each changelog "
                "into an 'upsert-kafka' table, or a table of Delta Lake or Iceberg with TBLPROPERTIES ('primary-key' = "
                "'...'), and join these tables when they are read"
            )
        return self.unsupported(
            f"{name} {self._over(relation)}", f"rows that leave the result would stay in the table. {advice}"
        )

    def _over(self, relation: Relation) -> str:
        return "over a streaming aggregate" if relation.is_aggregated else "over a stream of changes"


def _is_top_n(generator: Node) -> bool:
    """Return whether a generator returns the rows of a Top-N, with their positions."""
    if class_name(generator) != "PosExplode" or class_name(generator.child()) != "AttributeReference":
        return False
    return str(generator.child().name()) == TOP_ROWS


def _may_change(plan: Plan) -> bool:
    """Return whether a plan without streams reads tables, which each micro-batch reads again."""
    return any(
        class_name(leaf) in ("DataSourceV2Relation", "LogicalRelation") for leaf in elements(plan.collectLeaves())
    )
