"""Rewrite the analyzed plan of a continuous query over changelogs.

Spark's streams are append-only. So changes are read as rows with a row kind in a hidden last column, and each operator
is rewritten so that it passes the row kind on, or computes it. What is not known to be right is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    is_session,
    output,
    show,
)
from kafka_sql.spark.plan import OPERATOR_NAMES, STREAM, Operator
from kafka_sql.spark.plan_reader import read_operator
from kafka_sql.sql.jobs.changelog.aggregate_calls import has_distinct, is_linear
from kafka_sql.sql.jobs.changelog.aggregate_functions import needs_arrival_order
from kafka_sql.sql.jobs.changelog.changelog_functions import find_changelog_function, from_changelog, to_changelog
from kafka_sql.sql.jobs.changelog.constant_rows import reads_constants, stream_constants
from kafka_sql.sql.jobs.changelog.expand import expand_changes
from kafka_sql.sql.jobs.changelog.join import join_changes, join_type_of, merge_filter
from kafka_sql.sql.jobs.changelog.join_versions import join_versions
from kafka_sql.sql.jobs.changelog.operator_tree import Step
from kafka_sql.sql.jobs.changelog.over_aggregate import aggregate_over
from kafka_sql.sql.jobs.changelog.rank import TopN, rank_rows, read_window
from kafka_sql.sql.jobs.changelog.rankings import Ranking, SortLimit, find_sort_limit
from kafka_sql.sql.jobs.changelog.relation import (
    Mode,
    Relation,
    all_references,
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
from kafka_sql.sql.jobs.changelog.session_windows import merge_sessions, session_keys
from kafka_sql.sql.jobs.changelog.spark_aggregate import aggregate_signed_rows
from kafka_sql.sql.jobs.changelog.stateful_aggregate import aggregate_with_old_rows
from kafka_sql.sql.jobs.changelog.temporal_joins import (
    TemporalJoin,
    find_temporal_join,
    has_temporal_join,
)
from kafka_sql.sql.jobs.changelog.temporal_sort import sort_by_time
from kafka_sql.sql.jobs.changelog.upsert_operators import add_old_rows
from kafka_sql.sql.jobs.changelog.window_aggregate import aggregate_windows
from kafka_sql.sql.jobs.changelog.windows import groups_by_window
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json, describe_aggregate, describe_normalization
from kafka_sql.sql.rewrite.changelog_functions import FROM_CHANGELOG, ChangelogFunction
from kafka_sql.sql.rewrite.row_numbers import TOP_ROWS
from kafka_sql.state import arrival_order
from kafka_sql.table.changelog import DELETE, INSERT, KINDS, ROW_KIND_NAME, ROW_ORDER_NAME, UPDATE_AFTER

# operators that return the rows of their input
_TRANSPARENT: Final = frozenset({"CollectMetrics", "ResolvedHint", "SubqueryAlias", "View"})
# operators that only matter for the speed, or for operators that are rejected over changes
_REMOVED: Final = frozenset({"EventTimeWatermark", "RebalancePartitions", "Repartition", "RepartitionByExpression"})
_OPERATOR_DESCRIPTIONS: Final = {
    **OPERATOR_NAMES,
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


@dataclass(frozen=True)
class Required:
    """What the operator above, or the sink, requires of the changes of an operator.

    Attributes:
        old_rows: whether the old row of each update is needed (-U). Otherwise, a key says which row changes.
        versions: whether the rows are the versions of a temporal join, which need their watermark.
    """

    old_rows: bool = False
    versions: bool = False
    # whether the watermark is needed, because an operator above returns the rows of windows when these end
    watermark: bool = False


_OLD_ROWS: Final = Required(old_rows=True)
_VERSIONS: Final = Required(versions=True)


class PlanRewriter:
    """Rewrites the plan of one query.

    What an operator needs of its inputs is known from above (``Required``); how its rows change, what identifies them
    and which state they need is derived from below (``Relation``).
    """

    def __init__(
        self,
        catalyst: Catalyst,
        sink: str,
        sources: Mapping[str, CatalogTable],
        read_changes: ReadChanges,
        needed_columns: Mapping[frozenset[int], frozenset[int] | None],
        rankings: Mapping[frozenset[int], Ranking],
        is_updating: bool,
        removes_duplicates: bool,
    ) -> None:
        """Prepare a rewrite.

        Args:
            sink: the table that the query writes, for messages.
            sources: the Kafka tables that it reads as streams, by provider.
            needed_columns: for each join, by all its columns, those that the query uses; None for all.
            rankings: the row numbers that are a Top-N, by all columns of their operator.
            is_updating: whether the query runs in Spark's update mode, in which Spark's joins of streams cannot run,
                and windows return a row for each change. Otherwise, in append mode, all rows are final.
            removes_duplicates: whether a change data capture table with a PRIMARY KEY may have changes more than once.
        """
        self.catalyst, self._sink, self._sources, self._read_changes = catalyst, sink, sources, read_changes
        self._is_updating, self._removes_duplicates = is_updating, removes_duplicates
        self._needed_columns, self._rankings = needed_columns, rankings
        self._definitions: dict[int, Plan] = {}  # common table expressions (WITH)
        self._steps: list[Step] = []  # the inputs of the operator that is rewritten

    def rewrite(self, plan: Plan, required: Required = Required()) -> Relation:
        """Return the rows of an operator.

        Raises:
            UnsupportedSqlError: the result would be wrong, or it is not known whether it would be right.
        """
        plan = merge_filter(self.catalyst, plan) or plan
        before, self._steps = self._steps, []
        relation = self._rewrite(plan, required)
        self._steps = [*before, Step(plan, relation, tuple(self._steps))]
        return relation

    @property
    def root(self) -> Step:
        """The last operator of the query that was rewritten."""
        return self._steps[-1]

    def _rewrite(self, plan: Plan, required: Required) -> Relation:
        name = class_name(plan)
        if name == "WithCTE":
            self._definitions |= {d.id(): d.child() for d in elements(plan.cteDefs())}
            return self.rewrite(plan.plan(), required)
        if name == "CTERelationRef":
            return self._rewrite_reference(plan, required)
        if not plan.isStreaming():
            return Relation(plan)
        if name.startswith(STREAM):
            return self._rewrite_source(plan, required)
        changelog_function = find_changelog_function(plan)
        if changelog_function is not None:
            return self._rewrite_changelog_function(plan, *changelog_function, required)
        temporal_join = find_temporal_join(self.catalyst, plan)
        if temporal_join is not None:
            return self._rewrite_temporal_join(temporal_join, self._needed(plan))
        if (keys := session_keys(plan)) is not None:
            return self._rewrite_sessions(plan, keys, required)
        sort_limit = find_sort_limit(plan)
        if sort_limit is not None:
            return self._rewrite_sort_limit(sort_limit, required)
        if name == "Window" and (ranking := self._rankings.get(frozenset(map(column_id, output(plan))))):
            return self._rank(read_window(plan, self._read(plan), ranking), plan.child(), required)
        rewrite_inputs = {
            "Aggregate": self._rewrite_aggregate,
            "Distinct": self._rewrite_distinct,
            "Expand": self._rewrite_expand,
            "Generate": self._rewrite_generate,
            "Join": self._rewrite_join,
            "Sort": self._rewrite_sort,
            "Union": self._rewrite_union,
            "Window": self._rewrite_window,
        }.get(name)
        if rewrite_inputs is not None:
            return rewrite_inputs(plan, required)
        inputs = [self.rewrite(child, required) for child in elements(plan.children())]
        if all(relation.is_insert_only for relation in inputs):
            return self._keep(plan, inputs)
        (relation, *others) = inputs
        if name in _TRANSPARENT:
            return relation
        if name == "EventTimeWatermark" and (required.versions or required.watermark):
            return replace(relation, plan=self._with_inputs(plan, [relation]))
        if name in _REMOVED:
            return relation
        rewrite_changes = {
            "Project": self._rewrite_project,
            "Filter": self._rewrite_filter,
        }.get(name)
        if rewrite_changes is None or others:
            raise self._unsupported_operator(plan, inputs)
        return rewrite_changes(plan, relation)

    def _with_old_rows(self, required: Required) -> Required:
        """Return what an operator that keeps rows requires of its inputs."""
        return replace(required, old_rows=True, versions=False) if self._is_updating else required

    def _keep(self, plan: Plan, inputs: Sequence[Relation]) -> Relation:
        """Return an operator of Spark over rows that never change."""
        return Relation(self._with_inputs(plan, inputs), states=_states(*inputs))

    def _needed(self, join: Plan) -> frozenset[int] | None:
        return self._needed_columns.get(frozenset(map(column_id, output(join))))

    def _with_inputs(self, plan: Plan, inputs: Sequence[Relation]) -> Plan:
        plans = [relation.plan for relation in inputs]
        if all(new.equals(old) for new, old in zip(plans, elements(plan.children()), strict=True)):
            return plan
        return self.catalyst.with_inputs(plan, plans)

    def _rewrite_reference(self, plan: Plan, required: Required) -> Relation:
        """Replace a reference to a common table expression with its query."""
        if plan.cteId() not in self._definitions:
            return Relation(plan)
        definition = self.rewrite(self._definitions[plan.cteId()], required)
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

    def _rewrite_source(self, plan: Plan, required: Required) -> Relation:
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
        if required.old_rows if definition.is_upsert else self._removes_duplicates and bool(key):
            normalized = add_old_rows(self.catalyst, relation)  # whose old rows are complete
            return replace(normalized, of_change=frozenset(), states=(describe_normalization(definition),))
        return relation

    def _rewrite_project(self, plan: Plan, relation: Relation) -> Relation:
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

    def _rewrite_filter(self, plan: Plan, relation: Relation) -> Relation:
        """Filter old and new rows; of a relation without old rows, turn rows that do not pass into deletes."""
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

    def _rewrite_aggregate(self, plan: Plan, required: Required) -> Relation:
        groupings, items = elements(plan.groupingExpressions()), elements(plan.aggregateExpressions())
        operator = self._read(plan)
        has_windows = groups_by_window(operator)
        relation = self.rewrite(plan.child(), replace(self._with_old_rows(required), watermark=has_windows))
        if not self._is_updating and relation.is_insert_only:
            return self._keep(plan, [relation])
        session = next(filter(is_session, groupings), None)
        if session is not None:
            keys = [key for key in groupings if not is_session(key)]
            used = all_references([*groupings, *items])
            relation = self._merge(plan.child(), relation, session, keys, used)
        if has_windows:
            return aggregate_windows(self.catalyst, plan, self._with_row_kind(relation), operator, self.unsupported)
        needs_state = required.old_rows or relation.states or has_distinct(items) or needs_arrival_order(items)
        if relation.is_insert_only and not needs_state:
            # all groups stay, and Spark returns each one that has changed
            return Relation(
                self._with_inputs(plan, [relation]),
                Mode.UPSERT,
                key=group_key(groupings, items),
                fixed=frozenset(column_id(item) for item in items if not has_aggregate(item)),
                is_aggregated=True,
            )
        return self._aggregate(plan, self._with_row_kind(relation), groupings, items, required)

    def _rewrite_sessions(self, plan: Plan, names: Sequence[str], required: Required) -> Relation:
        """Merge the rows of a subquery into sessions."""
        relation = self.rewrite(plan.child(), replace(self._with_old_rows(required), watermark=True))
        session = next(filter(is_session, output(plan)))
        keys = [self.catalyst.find_column(plan.child(), [name]) for name in names]
        if None in keys:
            raise self.unsupported(
                f"SESSION with PARTITION BY {names[keys.index(None)]}", "the rows have no column of this name"
            )
        return self._merge(plan.child(), relation, session, keys)

    def _merge(
        self,
        plan: Plan,
        relation: Relation,
        session: Node,
        keys: Sequence[Node],
        used: frozenset[int] | None = None,
    ) -> Relation:
        """Return the rows of merged sessions, with the columns that are used; None for all."""
        changes, retracts = self._with_row_kind(relation), not relation.is_insert_only
        operator = self._read(plan)
        return merge_sessions(self.catalyst, operator, session, keys, changes, retracts, self.unsupported, used)

    def _rewrite_distinct(self, plan: Plan, required: Required) -> Relation:
        relation = self.rewrite(plan.child(), self._with_old_rows(required))
        if not self._is_updating and relation.is_insert_only:
            return self._keep(plan, [relation])
        changes = self._with_row_kind(relation)
        return self._aggregate(plan, changes, changes.columns, changes.columns, required)

    def _aggregate(
        self, plan: Plan, relation: Relation, groupings: Sequence[Node], items: Sequence[Node], required: Required
    ) -> Relation:
        """Aggregate changes: by Spark's sums of signed values where they are enough."""
        if not required.old_rows and not relation.states and is_linear(items):
            return aggregate_signed_rows(self.catalyst, relation, groupings, items, self.unsupported)
        result = aggregate_with_old_rows(self.catalyst, relation, groupings, items, self.unsupported)
        return replace(result, states=(*relation.states, describe_aggregate(self._read(plan))))

    def _rewrite_window(self, plan: Plan, required: Required) -> Relation:
        relation = self.rewrite(plan.child(), self._with_old_rows(required))
        if not relation.is_insert_only:
            self.check_old_rows(relation)
        result, described = aggregate_over(self.catalyst, plan, relation, self._needed(plan), self.unsupported)
        return replace(result, states=(*relation.states, described))

    def _rewrite_sort(self, plan: Plan, required: Required) -> Relation:
        return sort_by_time(self.catalyst, plan, self.rewrite(plan.child(), required), self.unsupported)

    def _rewrite_sort_limit(self, limit: SortLimit, required: Required) -> Relation:
        sort = limit.sort
        top_n = TopN([], elements(sort.order()), None, limit.ranking, self._read(sort))
        relation = self._rank(top_n, sort.child(), required)
        for project in limit.projects:
            relation = self._rewrite_project(project, relation)
        return relation

    def _rank(self, top_n: TopN, child: Plan, required: Required) -> Relation:
        relation = self.rewrite(child, self._with_old_rows(required))
        if not relation.is_insert_only:
            self.check_old_rows(relation)
        ranked, described = rank_rows(self.catalyst, top_n, relation, required.old_rows, self.unsupported)
        return replace(ranked, states=(*relation.states, described))

    def _rewrite_generate(self, plan: Plan, required: Required) -> Relation:
        is_top_n = _is_top_n(plan.generator())
        relation = self.rewrite(plan.child(), required if is_top_n else self._with_old_rows(required))
        if relation.is_insert_only:
            return self._keep(plan, [relation])
        if relation.row_kind is None and relation.key is not None and is_top_n:
            # a group never has fewer rows than before, so each position is only overwritten
            position = column_id(elements(plan.generatorOutput())[0])
            return replace(
                relation,
                plan=self._with_inputs(plan, [relation]),
                key=(*relation.key, frozenset({position})),
                fixed=relation.fixed | {position},
            )
        if relation.is_aggregated or is_varying(plan.generator(), relation.varying):
            raise self._unsupported_operator(plan, [relation])
        self.check_old_rows(relation)
        generated = self.catalyst.with_inputs(plan, [relation.plan])
        hidden = {column_id(column) for column in relation.hidden}
        columns = [column for column in output(generated) if column_id(column) not in hidden]
        plan = self.catalyst.project([*columns, *relation.hidden], generated)
        return replace(relation, plan=plan, key=None, fixed=frozenset())

    def _rewrite_expand(self, plan: Plan, required: Required) -> Relation:
        relation = self.rewrite(plan.child(), self._with_old_rows(required))
        if relation.is_insert_only:
            return self._keep(plan, [relation])
        self.check_old_rows(relation)
        return expand_changes(self.catalyst, plan, relation)

    def _rewrite_union(self, plan: Plan, required: Required) -> Relation:
        """Return the rows of all inputs. No columns identify a row any more."""
        inputs = [self.rewrite(child, self._with_old_rows(required)) for child in elements(plan.children())]
        if all(relation.is_insert_only for relation in inputs):
            return self._keep(plan, inputs)
        relations = [self._with_order(self._with_row_kind(relation)) for relation in inputs]
        union = self.catalyst.with_inputs(plan, [relation.plan for relation in relations])
        row_kind, row_order = output(union)[-2:]

        def any_of(ids: Callable[[Relation], frozenset[int]]) -> frozenset[int]:
            return frozenset(
                column_id(column)
                for i, column in enumerate(output(union))
                if any(column_id(output(relation.plan)[i]) in ids(relation) for relation in relations)
            )

        return Relation(
            union,
            Mode.RETRACT,
            row_kind,
            row_order,
            varying=any_of(lambda relation: relation.varying),
            of_change=any_of(lambda relation: relation.of_change),
            change_filter=next((relation.change_filter for relation in relations if relation.change_filter), None),
            is_unordered=any(relation.is_aggregated or relation.is_unordered for relation in relations),
            states=_states(*relations),
        )

    def _with_row_kind(self, relation: Relation) -> Relation:
        """Return changes with old rows; rows that never change have the row kind +I."""
        if not relation.is_insert_only:
            self.check_old_rows(relation)
            return relation
        rows = self.catalyst.dataframe(relation.plan)
        row_kind = F.lit(KINDS[INSERT]).alias(ROW_KIND_NAME)
        row_order = arrival_order(rows.sparkSession).alias(ROW_ORDER_NAME)
        plan = analyzed_plan(rows.select(*self.catalyst.columns(output(relation.plan)), row_kind, row_order))
        row_kind, row_order = output(plan)[-2:]
        return Relation(plan, Mode.RETRACT, row_kind, row_order, states=relation.states)

    def with_inserts(self, relation: Relation) -> Relation:
        """Return rows that never change as changes."""
        return self._with_row_kind(relation)

    def _with_order(self, relation: Relation) -> Relation:
        """Return changes with the column of their order."""
        if relation.row_order is not None:
            return relation
        rows, no_order = self.catalyst.dataframe(relation.plan), F.lit(0).cast("bigint").alias(ROW_ORDER_NAME)
        plan = analyzed_plan(rows.select(*self.catalyst.columns(output(relation.plan)), no_order))
        return replace(relation, plan=plan, row_order=output(plan)[-1])

    def _rewrite_join(self, plan: Plan, required: Required) -> Relation:
        sides = elements(plan.children())
        if not all(side.isStreaming() for side in sides):
            inputs = [self.rewrite(side, required) for side in sides]
            if not self._is_updating or not reads_constants(plan, all(input.is_insert_only for input in inputs)):
                return self._join_static(plan, inputs)
        inputs = [self.rewrite(side, self._with_old_rows(required)) for side in sides]
        inputs = [i if i.plan.isStreaming() else Relation(stream_constants(self.catalyst, i.plan)) for i in inputs]
        if not self._is_updating and all(relation.is_insert_only for relation in inputs):
            return self._keep(plan, inputs)
        left, right = map(self._with_row_kind, inputs)
        are_insert_only = not required.old_rows and all(relation.is_insert_only for relation in inputs)
        relation, described = join_changes(
            self.catalyst, plan, left, right, self._needed(plan), self.unsupported, are_insert_only
        )
        return replace(relation, states=(*_states(left, right), described))

    def _join_static(self, plan: Plan, inputs: Sequence[Relation]) -> Relation:
        """Keep the join of an aggregate with a static table on columns that do not change."""
        if all(relation.is_insert_only for relation in inputs):
            return self._keep(plan, inputs)
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
        right = self.rewrite(join.versions, _VERSIONS)
        if join.mark.key and right.is_insert_only:
            right = self._with_row_kind(right)
            ids = {str(column.name()): column_id(column) for column in right.columns}
            right = replace(right, key=tuple(frozenset({ids[name]}) for name in join.mark.key))
        relation, described = join_versions(self.catalyst, join, left, right, needed, self.unsupported)
        return replace(relation, states=(*_states(left, right), described))

    def _rewrite_changelog_function(
        self, plan: Plan, function: ChangelogFunction, table: Plan, required: Required
    ) -> Relation:
        relation = self.rewrite(table, self._with_old_rows(required))
        if function.name == FROM_CHANGELOG:
            return from_changelog(self.catalyst, plan, function, relation, self.unsupported)
        if not relation.is_insert_only:
            self.check_old_rows(relation)
        return to_changelog(self.catalyst, plan, function, relation)

    def _read(self, plan: Plan) -> Operator:
        return read_operator(plan, self._definitions)

    def check_old_rows(self, relation: Relation) -> None:
        """Check that the old rows of updates are known, although they were required.

        Raises:
            UnsupportedSqlError: they are not, for example those of a join with a static table.
        """
        if relation.mode != Mode.RETRACT:
            raise self.unsupported(
                f"this query {self._over(relation)}",
                "the old row of an update is unknown. Write the rows of the aggregate into an 'upsert-kafka' table "
                "first",
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


def _states(*relations: Relation) -> tuple[Json, ...]:
    return tuple(state for relation in relations for state in relation.states)


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
