"""Describe the rows that an operator of a continuous query returns: how they change, and what identifies them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from kafka_sql.definition import Definition
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.catalyst import Attribute, Node, Plan, class_name, column_id, elements, output, walk
from kafka_sql.spark.event_time import is_event_time_call
from kafka_sql.spark.plan import AGGREGATE_FUNCTION
from kafka_sql.sql.jobs.checkpoints.fingerprint import Json

Key: TypeAlias = tuple[frozenset[int], ...]
MakeError: TypeAlias = Callable[[str, str], UnsupportedSqlError]  # from what is not supported, and why

CHANGE_FILTER_REASON: Final = (
    "the old row of an update has the metadata of the update, so it can pass although the row that was added did not. "
    "Remove the filter"
)

_WINDOWS: Final = ("window", "session_window")
WINDOW_COLUMNS: Final = (*_WINDOWS, "window_start", "window_end", "window_time")
# functions whose value changes between micro-batches, although their arguments do not
_TIME_DEPENDENT_OR_RANDOM: Final = frozenset(
    {"CurrentDate", "CurrentTime", "CurrentTimestamp", "LocalTimestamp", "Now", "Rand", "Randn", "Shuffle", "Uuid"}
)
INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")  # Spark's types, by size


class Mode(Enum):
    """A changelog mode, in the notation of Flink's EXPLAIN."""

    INSERT_ONLY = "[I]"
    UPDATING = "[I,UA]"  # of a result: no row is ever deleted
    UPSERT = "[I,UA,D]"  # new rows and deletes by key
    RETRACT = "[I,UB,UA,D]"  # old and new rows

    def __str__(self) -> str:
        """Return Flink's notation."""
        return self.value


def source_mode(definition: Definition) -> Mode:
    """Return how the rows of a table change when a continuous query reads it."""
    if not definition.reads_content:
        return Mode.INSERT_ONLY
    return Mode.UPSERT if definition.is_upsert else Mode.RETRACT


@dataclass(frozen=True)
class Relation:
    """The rows of an operator.

    Attributes:
        plan: the operator, rewritten.
        mode: how its rows change.
        row_kind: the column with the row kind; without one (None), each row is a +I or a +U.
        row_order: the column with the order of the changes of a key; None if a key has at most one per micro-batch.
        key: for each of the columns that together identify a row, the ids of the columns that have its value; an empty
            set if no column has it any more. None if no columns identify a row.
        fixed: the ids of the columns that have the same value in all rows of a key.
        varying: the ids of the columns whose values may differ when an old row is computed again.
        of_record: the ids of the columns with metadata of the record of the change, such as its timestamp. The other
            columns of an old row have older values.
        of_change: the ids of the columns whose values the old row of an update has from the record of the update, and
            not from the record that added it, such as the offset of a change data capture record.
        change_filter: the text of a filter by such a column. It accepts the old row of an update by the record of the
            update, so the row that was added may not have passed.
        is_aggregated: whether an updating aggregate computes the rows.
        is_unordered: whether changes of a key may come from several tasks, as a join returns them, in any order.
        has_unknown_deletes: whether rows of a source became deletes because they did not pass a filter, although it is
            unknown whether earlier rows of their keys passed.
        states: the stateful operators of this package that compute the rows, inputs first, as in a fingerprint.
    """

    plan: Plan
    mode: Mode = Mode.INSERT_ONLY
    row_kind: Attribute | None = None
    row_order: Attribute | None = None
    key: Key | None = None
    fixed: frozenset[int] = field(default_factory=frozenset)
    varying: frozenset[int] = field(default_factory=frozenset)
    of_record: frozenset[int] = field(default_factory=frozenset)
    of_change: frozenset[int] = field(default_factory=frozenset)
    change_filter: str | None = None
    is_aggregated: bool = False
    is_unordered: bool = False
    has_unknown_deletes: bool = False
    states: tuple[Json, ...] = ()

    @property
    def is_insert_only(self) -> bool:
        """Whether rows never change, so that Spark's own operators can be used."""
        return self.mode == Mode.INSERT_ONLY

    @property
    def description(self) -> str:
        """What an operator is over, for messages."""
        return "over a streaming aggregate" if self.is_aggregated else "over a stream of changes"

    @property
    def hidden(self) -> list[Attribute]:
        """The columns that are not in the user's query, which are the last ones of the plan."""
        return [column for column in (self.row_kind, self.row_order) if column is not None]

    @property
    def columns(self) -> list[Attribute]:
        """The columns of the user's query."""
        columns = output(self.plan)
        return columns[: len(columns) - len(self.hidden)]


def states_of(*relations: Relation) -> tuple[Json, ...]:
    """Return the stateful operators of several inputs."""
    return tuple(state for relation in relations for state in relation.states)


def is_deterministic(node: Node) -> bool:
    """Return whether an expression has the same value when an old row is computed again."""
    return all(
        class_name(part) not in _TIME_DEPENDENT_OR_RANDOM
        and (part.deterministic() or is_event_time_call(part) or not _is_cause(part))
        for part in walk(node)
    )


def _is_cause(node: Node) -> bool:
    """Return whether an expression that is not deterministic is so by itself, and not because of a part."""
    return all(child.deterministic() for child in elements(node.children()))


def has_subquery(node: Node) -> bool:
    """Return whether an expression contains a subquery."""
    names = map(class_name, walk(node))
    return any("Subquery" in name or name in ("Exists", "ListQuery") for name in names)


def has_aggregate(node: Node) -> bool:
    """Return whether an expression calls an aggregate function."""
    return any(class_name(part) == AGGREGATE_FUNCTION for part in walk(node))


def keep_columns(columns: Sequence[Attribute], used: frozenset[int] | None) -> Sequence[Attribute]:
    """Return the columns that are used, None for all; or one, because a row has at least one."""
    return [column for column in columns if used is None or column_id(column) in used] or columns[:1]


def references(node: Node) -> frozenset[int]:
    """Return the ids of the columns that an expression refers to."""
    return frozenset(column_id(part) for part in walk(node) if class_name(part) == "AttributeReference")


def all_references(nodes: Sequence[Node]) -> frozenset[int]:
    """Return the ids of all columns that expressions use."""
    return frozenset().union(*map(references, nodes))


def is_fixed(node: Node, fixed: frozenset[int]) -> bool:
    """Return whether an expression has the same value in all rows of a key."""
    return references(node) <= fixed and is_deterministic(node) and not has_subquery(node)


def project_key(items: Sequence[Node], key: Key | None) -> Key | None:
    """Return a key in terms of the columns that a projection returns."""
    if key is None:
        return None
    sources = {column_id(item): key_column(item) for item in items}
    return tuple(frozenset(id for id, source in sources.items() if source in part) for part in key)


def project_fixed(items: Sequence[Node], fixed: frozenset[int]) -> frozenset[int]:
    """Return the fixed columns among those that a projection returns."""
    return frozenset(column_id(item) for item in items if is_fixed(item, fixed))


def project_varying(items: Sequence[Node], varying: frozenset[int]) -> frozenset[int]:
    """Return the varying columns among those that a projection returns."""
    return frozenset(column_id(item) for item in items if is_varying(item, varying))


def project_of_record(items: Sequence[Node], of_record: frozenset[int]) -> frozenset[int]:
    """Return the columns with metadata of the record among those that a projection returns."""
    return frozenset(column_id(item) for item in items if references(item) and is_fixed(item, of_record))


def project_of_change(items: Sequence[Node], of_change: frozenset[int]) -> frozenset[int]:
    """Return the columns with metadata of the change among those that a projection returns."""
    return frozenset(column_id(item) for item in items if references(item) & of_change)


def is_varying(node: Node, varying: frozenset[int]) -> bool:
    """Return whether the value of an expression may differ when an old row is computed again."""
    return not is_deterministic(node) or has_subquery(node) or bool(references(node) & varying)


def group_key(groupings: Sequence[Node], items: Sequence[Node]) -> Key:
    """Return the key of an aggregate's rows: its grouping expressions in terms of its columns.

    The columns of a window are one part: one of them is enough to identify it.
    """
    windows, others = list[frozenset[int]](), list[frozenset[int]]()
    for grouping in groupings:
        ids = (column_id(item) for item in items if _without_casts(item).semanticEquals(_without_casts(grouping)))
        (windows if _is_window_column(grouping) else others).append(frozenset(ids))
    return (*others, frozenset().union(*windows)) if windows else tuple(others)


def _is_window_column(node: Node) -> bool:
    node = _without_casts(node)
    if class_name(node) == "GetStructField":
        node = node.child()
    return class_name(node) == "AttributeReference" and str(node.name()) in WINDOW_COLUMNS


def map_columns(relation_ids: Mapping[int, int], ids: frozenset[int]) -> frozenset[int]:
    """Return the ids of columns that were given other ids."""
    return frozenset(relation_ids[id] for id in ids if id in relation_ids)


def key_column(node: Node) -> int | None:
    """Return the id of the column of which an expression is a one-to-one function; None if it is not."""
    node = _without_casts(node)
    while (operand := _shifted(node)) is not None:
        node = _without_casts(operand)
    if class_name(node) == "GetStructField" and class_name(node.child()) == "AttributeReference":
        child = node.child()
        return column_id(child) if child.name() in _WINDOWS else None  # a window's start or end
    return column_id(node) if class_name(node) == "AttributeReference" else None


def _shifted(node: Node) -> Node | None:
    """Return the integer to which an expression adds a literal, such as the row number of a Top-N; None if it does not.

    Different integers stay different, even if the sum overflows.
    """
    if class_name(node) != "Add" or str(node.dataType().simpleString()) not in INTEGERS:
        return None
    operands = [part for part in elements(node.children()) if class_name(part) != "Literal"]
    return operands[0] if len(operands) == 1 else None


def _without_casts(node: Node) -> Node:
    """Return an expression without the aliases, null checks and injective casts around it."""
    while class_name(node) in ("Alias", "AssertNotNull") or (class_name(node) == "Cast" and _is_injective(node)):
        node = elements(node.children())[0]
    return node


def _is_injective(cast: Node) -> bool:
    """Return whether a cast maps different values to different values."""
    source, target = (str(data_type.simpleString()) for data_type in (cast.child().dataType(), cast.dataType()))
    if source in INTEGERS and target in INTEGERS:
        overflow_fails = str(cast.evalMode().toString()) == "ANSI"
        return overflow_fails or INTEGERS.index(source) <= INTEGERS.index(target)
    return source == target or (target == "string" and source in (*INTEGERS, "boolean", "date"))
