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
)
from kafka_sql.spark.plan import OPERATOR_NAMES, STREAM, Operator
from kafka_sql.spark.plan_reader import read_operator
from kafka_sql.sql.jobs.changelog.aggregate_calls import has_distinct, is_linear
from kafka_sql.sql.jobs.changelog.aggregate_functions import needs_arrival_order
from kafka_sql.sql.jobs.changelog.calc import filter_changes, project_changes, rename_columns
from kafka_sql.sql.jobs.changelog.changelog_functions import find_changelog_function, from_changelog, to_changelog
from kafka_sql.sql.jobs.changelog.constant_rows import reads_constants, stream_constants
from kafka_sql.sql.jobs.changelog.expand import expand_changes
from kafka_sql.sql.jobs.changelog.group_aggregate import aggregate_with_old_rows
from kafka_sql.sql.jobs.changelog.join import is_regular_join, join_changes, merge_filter
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
    is_varying,
    references,
    states_of,
)
from kafka_sql.sql.jobs.changelog.session_windows import merge_sessions, session_keys
from kafka_sql.sql.jobs.changelog.spark_aggregate import aggregate_signed_rows
from kafka_sql.sql.jobs.changelog.static_join import join_static_rows
from kafka_sql.sql.jobs.changelog.table_source_scan import scan_changes
from kafka_sql.sql.jobs.changelog.temporal_join import join_versions
from kafka_sql.sql.jobs.changelog.temporal_join_marks import (
    TemporalJoin,
    find_temporal_join,
    has_temporal_join,
)
from kafka_sql.sql.jobs.changelog.temporal_sort import sort_by_time
from kafka_sql.sql.jobs.changelog.union import union_changes
from kafka_sql.sql.jobs.changelog.window_aggregate import aggregate_windows
from kafka_sql.sql.jobs.changelog.windows import groups_by_window
from kafka_sql.sql.jobs.checkpoints.fingerprint import describe_aggregate
from kafka_sql.sql.rewrite.changelog_functions import FROM_CHANGELOG, ChangelogFunction
from kafka_sql.sql.rewrite.row_numbers import TOP_ROWS
from kafka_sql.state import arrival_order
from kafka_sql.table.changelog import INSERT, KINDS, ROW_KIND_NAME, ROW_ORDER_NAME

# operators that return the rows of their input
_TRANSPARENT: Final = frozenset({"CollectMetrics", "ResolvedHint", "SubqueryAlias", "View"})
# operators that only matter for the speed, or for operators that are rejected over changes
_REMOVED: Final = frozenset({"EventTimeWatermark", "RebalancePartitions", "Repartition", "RepartitionByExpression"})
_OPERATOR_DESCRIPTIONS: Final = {
    **OPERATOR_NAMES,
    "Sort": "ORDER BY",
    "Window": "a window function (OVER)",
}

ReadChanges = Callable[[CatalogTable], Plan]  # returns the plan of a table's changes; its last columns are hidden


@dataclass(frozen=True)
class Required:
    """What the operator above, or the sink, requires of the changes of an operator.

    Attributes:
        old_rows: whether the old row of each update is needed (-U). Otherwise, a key says which row changes.
        versions: whether the rows are the versions of a temporal join, which need their watermark.
        watermark: whether the watermark is needed, because an operator above returns rows when it passes them.
    """

    old_rows: bool = False
    versions: bool = False
    watermark: bool = False


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
        self.is_updating, self._removes_duplicates = is_updating, removes_duplicates
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
            return self._scan(plan, required)
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
        relation = inputs[0]
        if name in _TRANSPARENT:
            return relation
        if name == "EventTimeWatermark" and (required.versions or required.watermark):
            return replace(relation, plan=self._with_inputs(plan, [relation]))
        if name in _REMOVED:
            return relation
        if name == "Project":
            return project_changes(self.catalyst, plan, relation)
        if name == "Filter":
            return filter_changes(self.catalyst, plan, relation, self.unsupported)
        raise self._unsupported_operator(plan, inputs)

    def _with_old_rows(self, required: Required) -> Required:
        """Return what an operator that keeps rows requires of its inputs."""
        return replace(required, old_rows=True, versions=False) if self.is_updating else required

    def _keep(self, plan: Plan, inputs: Sequence[Relation]) -> Relation:
        """Return an operator of Spark over rows that never change."""
        return Relation(self._with_inputs(plan, inputs), states=states_of(*inputs))

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
        return rename_columns(self.catalyst, definition, aliases, ids)

    def _scan(self, plan: Plan, required: Required) -> Relation:
        """Read the changes of a table instead of its rows."""
        entry = self._sources.get(str(plan.sourceName()))
        if entry is None or not entry.definition.reads_content:
            return Relation(plan)
        is_upsert, key = entry.definition.is_upsert, entry.definition.table.primary_key
        needs_old_rows = required.old_rows if is_upsert else self._removes_duplicates and bool(key)
        return scan_changes(self.catalyst, plan, entry.definition, self._read_changes(entry), needs_old_rows)

    def _rewrite_aggregate(self, plan: Plan, required: Required) -> Relation:
        groupings, items = elements(plan.groupingExpressions()), elements(plan.aggregateExpressions())
        operator = self._read(plan)
        has_windows = groups_by_window(operator)
        relation = self.rewrite(plan.child(), replace(self._with_old_rows(required), watermark=has_windows))
        if not self.is_updating and relation.is_insert_only:
            return self._keep(plan, [relation])
        session = next(filter(is_session, groupings), None)
        if session is not None:
            keys = [key for key in groupings if not is_session(key)]
            used = all_references([*groupings, *items])
            relation = self._merge(plan.child(), relation, session, keys, used)
        # the rows of a regular join change as long as the query runs, also after their windows
        if has_windows and (session is not None or not any(map(is_regular_join, relation.states))):
            return aggregate_windows(self.catalyst, plan, self.with_row_kind(relation), operator, self.unsupported)
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
        return self._aggregate(plan, self.with_row_kind(relation), groupings, items, required)

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
        changes, retracts = self.with_row_kind(relation), not relation.is_insert_only
        operator = self._read(plan)
        return merge_sessions(self.catalyst, operator, session, keys, changes, retracts, self.unsupported, used)

    def _rewrite_distinct(self, plan: Plan, required: Required) -> Relation:
        relation = self.rewrite(plan.child(), self._with_old_rows(required))
        if not self.is_updating and relation.is_insert_only:
            return self._keep(plan, [relation])
        changes = self.with_row_kind(relation)
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
        relation = self.rewrite(plan.child(), replace(self._with_old_rows(required), watermark=True))
        self.check_old_rows(relation)
        result, described = aggregate_over(self.catalyst, plan, relation, self._needed(plan), self.unsupported)
        return replace(result, states=(*relation.states, described))

    def _rewrite_sort(self, plan: Plan, required: Required) -> Relation:
        return sort_by_time(
            self.catalyst, plan, self.rewrite(plan.child(), replace(required, watermark=True)), self.unsupported
        )

    def _rewrite_sort_limit(self, limit: SortLimit, required: Required) -> Relation:
        sort = limit.sort
        top_n = TopN([], elements(sort.order()), None, limit.ranking, self._read(sort))
        relation = self._rank(top_n, sort.child(), required)
        for project in limit.projects:
            relation = project_changes(self.catalyst, project, relation)
        return relation

    def _rank(self, top_n: TopN, child: Plan, required: Required) -> Relation:
        relation = self.rewrite(child, replace(self._with_old_rows(required), watermark=True))
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
        of_change = relation.of_change
        if references(generated.generator()) & of_change:
            of_change |= frozenset(map(column_id, elements(generated.generatorOutput())))
        return replace(relation, plan=plan, key=None, fixed=frozenset(), of_change=of_change)

    def _rewrite_expand(self, plan: Plan, required: Required) -> Relation:
        relation = self.rewrite(plan.child(), self._with_old_rows(required))
        if relation.is_insert_only:
            return self._keep(plan, [relation])
        self.check_old_rows(relation)
        return expand_changes(self.catalyst, plan, relation)

    def _rewrite_union(self, plan: Plan, required: Required) -> Relation:
        inputs = [self.rewrite(child, self._with_old_rows(required)) for child in elements(plan.children())]
        if all(relation.is_insert_only for relation in inputs):
            return self._keep(plan, inputs)
        return union_changes(self.catalyst, plan, [self.with_row_kind(relation) for relation in inputs])

    def with_row_kind(self, relation: Relation) -> Relation:
        """Return changes with old rows; rows that never change have the row kind +I.

        Raises:
            UnsupportedSqlError: the old rows of updates are not known.
        """
        self.check_old_rows(relation)
        if not relation.is_insert_only:
            return relation
        rows = self.catalyst.dataframe(relation.plan)
        row_kind = F.lit(KINDS[INSERT]).alias(ROW_KIND_NAME)
        row_order = arrival_order(rows.sparkSession).alias(ROW_ORDER_NAME)
        plan = analyzed_plan(rows.select(*self.catalyst.columns(output(relation.plan)), row_kind, row_order))
        row_kind, row_order = output(plan)[-2:]
        return Relation(plan, Mode.RETRACT, row_kind, row_order, states=relation.states)

    def _rewrite_join(self, plan: Plan, required: Required) -> Relation:
        sides = elements(plan.children())
        if not all(side.isStreaming() for side in sides):
            inputs = [self.rewrite(side, required) for side in sides]
            if not self.is_updating or not reads_constants(plan, all(input.is_insert_only for input in inputs)):
                return self._join_static(plan, inputs)
        inputs = [self.rewrite(side, self._with_old_rows(required)) for side in sides]
        inputs = [i if i.plan.isStreaming() else Relation(stream_constants(self.catalyst, i.plan)) for i in inputs]
        if not self.is_updating and all(relation.is_insert_only for relation in inputs):
            return self._keep(plan, inputs)
        left, right = map(self.with_row_kind, inputs)
        are_insert_only = not required.old_rows and all(relation.is_insert_only for relation in inputs)
        relation, described = join_changes(
            self.catalyst, plan, left, right, self._needed(plan), self.unsupported, are_insert_only
        )
        return replace(relation, states=(*states_of(left, right), described))

    def _join_static(self, plan: Plan, inputs: Sequence[Relation]) -> Relation:
        if all(relation.is_insert_only for relation in inputs):
            return self._keep(plan, inputs)
        joined = join_static_rows(plan, inputs, self.unsupported)
        if joined is None:
            raise self._unsupported_operator(plan, inputs)
        return replace(joined, plan=self._with_inputs(plan, inputs))

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
            right = self.with_row_kind(right)
            ids = {str(column.name()): column_id(column) for column in right.columns}
            right = replace(right, key=tuple(frozenset({ids[name]}) for name in join.mark.key))
        relation, described = join_versions(self.catalyst, join, left, right, needed, self.unsupported)
        return replace(relation, states=(*states_of(left, right), described))

    def _rewrite_changelog_function(
        self, plan: Plan, function: ChangelogFunction, table: Plan, required: Required
    ) -> Relation:
        relation = self.rewrite(table, self._with_old_rows(required))
        if function.name == FROM_CHANGELOG:
            return from_changelog(self.catalyst, plan, function, relation, self.unsupported)
        self.check_old_rows(relation)
        return to_changelog(self.catalyst, plan, function, relation)

    def _read(self, plan: Plan) -> Operator:
        return read_operator(plan, self._definitions)

    def check_old_rows(self, relation: Relation) -> None:
        """Check that the old rows of updates are known, although they were required.

        Raises:
            UnsupportedSqlError: they are not, for example those of a join with a static table.
        """
        if relation.mode not in (Mode.INSERT_ONLY, Mode.RETRACT):
            raise self.unsupported(
                f"this query {relation.description}",
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
            f"{name} {relation.description}", f"rows that leave the result would stay in the table. {advice}"
        )


def _is_top_n(generator: Node) -> bool:
    """Return whether a generator returns the rows of a Top-N, with their positions."""
    if class_name(generator) != "PosExplode" or class_name(generator.child()) != "AttributeReference":
        return False
    return str(generator.child().name()) == TOP_ROWS
