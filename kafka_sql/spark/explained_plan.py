"""Read the operators of an analyzed plan from the text of EXPLAIN EXTENDED, for clients of Spark Connect.

The server does not send them another plan. A line of the text is an operator, after a prefix that shows its depth::

    Project [k#0]
    +- Join Inner, (k#0 = v#1)
       :- SubqueryAlias spark_catalog.default.t
       :  +- StreamingRelationV2 kafka.t, ...
       +- LocalRelation [v#1]

Text in a query can contain line breaks. The lines after one have no such prefix, and are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.plan import STREAM, Operator

_START: Final = "== Analyzed Logical Plan ==\n"  # the schema and the plan follow
_END: Final = "\n== Optimized Logical Plan ==\n"
_BRANCHES: Final = (":- ", "+- ")  # before an operator
_INDENTATION: Final = (":  ", "   ")  # before these
_WIDTH: Final = 3  # characters per level
_MARKS: Final = "~!'"  # before the names of operators that read streams, or are not resolved


@dataclass(frozen=True)
class _Line:
    """An operator: its level in the tree, its name, and its arguments."""

    level: int
    name: str
    arguments: str


def parse_explained_plan(explained: str) -> Operator:
    """Return the operators of the analyzed plan. They have no columns and no conditions.

    Raises:
        UnsupportedSqlError: the text is not one of a plan.
    """
    _, start, rest = explained.partition(_START)
    plan, end, _ = rest.partition(_END)
    lines = [line for text in plan.split("\n")[1:] if (line := _parse_line(text)) is not None]
    if not (start and end and lines) or lines[0].level > 0:
        raise _unreadable("no analyzed plan")
    return _Tree([lines[0], *(line for line in lines[1:] if line.level > 0)]).build(0)


def _unreadable(found: str) -> UnsupportedSqlError:
    return UnsupportedSqlError(
        f"The query cannot be checked over Spark Connect: the server's EXPLAIN has {found}. Run the statement in a "
        "classic session."
    )


def _parse_line(text: str) -> _Line | None:
    """Return the operator of a line; None if the line is the rest of a text."""
    level = 0
    while text.startswith(_INDENTATION):
        text, level = text[_WIDTH:], level + 1
    if text.startswith(_BRANCHES):
        text, level = text[_WIDTH:], level + 1
    elif level:
        return None
    name, _, arguments = text.lstrip(_MARKS).partition(" ")
    name = name.partition("[")[0]  # RelationV2[k#0]
    if name.isidentifier() and name[0].isupper():
        return _Line(level, name, arguments)
    if level:
        raise _unreadable(f"the unknown operator '{name}'")
    return None


class _Tree:
    """The lines of a plan."""

    def __init__(self, lines: list[_Line]) -> None:
        self._lines = lines
        self._definitions = {
            line.arguments.partition(",")[0]: i for i, line in enumerate(lines) if line.name == "CTERelationDef"
        }

    def build(self, start: int) -> Operator:
        """Return the operator of a line, with its inputs."""
        name, arguments = self._lines[start].name, self._lines[start].arguments
        children = self._inputs(start)
        if name == "WithCTE":
            return children[-1]
        first = arguments.partition(",")[0]
        if name == "CTERelationRef" and first in self._definitions:
            children = self._inputs(self._definitions[first])
        is_stream = name.startswith(STREAM)
        is_streaming = is_stream or any(child.is_streaming for child in children)
        if name == "SubqueryAlias":
            return Operator(name, children, is_streaming, detail=arguments.rpartition(".")[2], table=arguments)
        return Operator(name, children, is_streaming, detail=first if is_stream else name if not children else "")

    def _inputs(self, start: int) -> tuple[Operator, ...]:
        """Return the inputs of an operator. Its subqueries, one level deeper, are omitted."""
        level = self._lines[start].level
        following = range(start + 1, len(self._lines))
        end = next((i for i in following if self._lines[i].level <= level), len(self._lines))
        return tuple(self.build(i) for i in range(start + 1, end) if self._lines[i].level == level + 1)
