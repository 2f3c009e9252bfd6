"""Describe Spark's analyzed plan of a query: its operators, and the expressions of their columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

AGGREGATE_FUNCTION: Final = "AggregateExpression"  # Spark's class of a call of an aggregate function
ATTRIBUTE: Final = "AttributeReference"  # Spark's class of a reference to a column
OPERATOR_NAMES: Final = {  # what messages call operators over an updating result
    "Aggregate": "another aggregate",
    "Deduplicate": "a deduplication",
    "DeduplicateWithinWatermark": "a deduplication",
    "Distinct": "DISTINCT",
    "Generate": "a table-generating function such as explode",
    "GlobalLimit": "LIMIT",
    "Join": "a join",
    "LocalLimit": "LIMIT",
    "Sample": "TABLESAMPLE",
}
SOURCE_COLUMN: Final = "SourceColumn"  # not a class of Spark: a column that a source returns
STREAM: Final = "StreamingRelation"  # beginning of the classes of streaming sources
WATERMARK: Final = "EventTimeWatermark"  # Spark's operator of a watermark


@dataclass(frozen=True)
class Expression:
    """An expression tree.

    ``a % 2`` is ``Expression("Remainder", (Expression("AttributeReference", text="a", id=7), Expression("Literal",
    text="2", type="integer")))``.
    """

    name: str  # Spark's class
    children: tuple[Expression, ...] = ()  # the arguments
    text: str = ""  # the name of a column, field or function, the value of a literal, or DISTINCT
    type: str = ""  # the type of a literal, a column or a cast, in Spark's JSON notation
    id: int | None = None  # the id of a column, unique in the plan; None for other expressions
    is_event_time: bool = field(default=False, compare=False)  # whether it is a column with a watermark
    subquery: Operator | None = field(default=None, repr=False)  # the plan of a subquery; None for other expressions

    def walk(self) -> Iterator[Expression]:
        """Yield the expression and all expressions in it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def conjuncts(self) -> Iterator[Expression]:
        """Yield the conditions that AND connects."""
        if self.name == "And":
            for child in self.children:
                yield from child.conjuncts()
        else:
            yield self

    def references(self) -> frozenset[int]:
        """Return the ids of the columns to which the expression refers."""
        return frozenset(part.id for part in self.walk() if part.name == ATTRIBUTE and part.id is not None)


@dataclass(frozen=True)
class Operator:
    """An operator of a plan, with the operators that it reads from."""

    name: str  # Spark's class, such as Filter
    children: tuple[Operator, ...] = ()  # its inputs
    is_streaming: bool = True  # whether it reads a stream
    # the columns that it returns, aliases or attributes; empty if it returns those of its inputs
    columns: tuple[Expression, ...] = ()
    keys: tuple[Expression, ...] = ()  # the grouping expressions of an aggregate, or the columns of a deduplication
    condition: Expression | None = None  # the condition of a filter or join; None if there is none
    detail: str = ""  # the provider of a stream, the type of a join, or the name of a subquery
    table: str = ""  # the qualified name of a table, if the operator is one
    table_class: str = ""  # the class of the table that a source of DataSource V2 reads
    others: tuple[Expression, ...] = ()  # the expressions of an operator that is none of these

    @property
    def output(self) -> tuple[Expression, ...]:
        """The columns that it returns."""
        if self.columns or not self.children:
            return self.columns
        if self.name != "Join" or self.detail in ("LEFT SEMI", "LEFT ANTI"):
            return self.children[0].output
        return tuple(column for child in self.children for column in child.output)

    @property
    def expressions(self) -> Iterator[Expression]:
        """All its expressions, with those in them."""
        condition = () if self.condition is None else (self.condition,)
        for expression in (*self.columns, *self.keys, *condition, *self.others):
            yield from expression.walk()

    def walk(self) -> Iterator[Operator]:
        """Yield the operators that read streams, inputs first."""
        if self.is_streaming:
            for child in self.children:
                yield from child.walk()
            yield self

    def walk_all(self) -> Iterator[Operator]:
        """Yield all operators, also those of tables and of subqueries, inputs first."""
        subqueries = (part.subquery for part in self.expressions if part.subquery is not None)
        for plan in chain(self.children, subqueries):
            yield from plan.walk_all()
        yield self

    def joins_streams(self) -> bool:
        """Return whether it is a join of two streams."""
        return self.name == "Join" and all(child.is_streaming for child in self.children)


def reference(column: Expression) -> Expression:
    """Return a reference to a column that an operator returns."""
    return replace(column, name=ATTRIBUTE, children=())


def resolve(expression: Expression, inputs: tuple[Operator, ...]) -> Expression:
    """Return an expression over the sources' columns: column references are replaced by what they stand for.

    Columns of tables that are not streams remain as they are.
    """
    if expression.name == ATTRIBUTE:
        for operator in inputs:
            resolved = _resolve_column(expression, operator)
            if resolved is not None:
                return resolved
        return replace(expression, name=SOURCE_COLUMN, id=None)
    children = tuple(resolve(child, inputs) for child in expression.children)
    if expression.name == "Alias":
        return children[0]
    return replace(expression, children=children)


def _resolve_column(column: Expression, operator: Operator) -> Expression | None:
    """Return the definition of a column of a stream; None if the operator does not return the column."""
    if not operator.is_streaming:
        return None
    if operator.name == "Union":
        return _resolve_union(column, operator)
    for definition in operator.columns:
        if definition.id == column.id and definition.id is not None:
            if not operator.children:
                return replace(definition, name=SOURCE_COLUMN, id=None)
            return resolve(definition, operator.children)
    if operator.columns:
        return None
    return next(filter(None, (_resolve_column(column, child) for child in operator.children)), None)


def _resolve_union(column: Expression, operator: Operator) -> Expression | None:
    """Return the definitions of a union's column in its inputs. The column has the id of the first input's column."""
    ids = [c.id for c in operator.output]
    if column.id not in ids:
        return None
    position = ids.index(column.id)
    columns = [(child.output[position], child) for child in operator.children if position < len(child.output)]
    resolved = dict.fromkeys(resolve(reference(c), (child,)) for c, child in columns)
    return next(iter(resolved)) if len(resolved) == 1 else Expression("Union", tuple(resolved))
