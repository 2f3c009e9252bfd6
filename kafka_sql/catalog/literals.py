"""Names and texts as Spark SQL writes them."""

from __future__ import annotations


def quote(name: str) -> str:
    """An identifier in backquotes, the same in Flink and Spark."""
    return "`" + name.replace("`", "``") + "`"


def string(text: str) -> str:
    """A string literal of Spark's.

    The brace is escaped so that Spark's own ``${...}`` substitution leaves the text alone.
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "$\\{") + "'"
