"""Names and texts as Spark SQL writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable


def quote(name: str) -> str:
    """An identifier in backquotes, the same in Flink and Spark."""
    return "`" + name.replace("`", "``") + "`"


def qualified_name(parts: Iterable[str]) -> str:
    """A name of several parts, each in backquotes."""
    return ".".join(map(quote, parts))


def like_pattern(name: str) -> str:
    """The pattern of SHOW ... LIKE for a name; odd characters match any."""
    return re.sub(r"\W", "*", name, flags=re.ASCII)


def string_literal(text: str) -> str:
    """A string literal of Spark's.

    The brace is escaped so that Spark's own ``${...}`` substitution leaves the text alone.
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "$\\{") + "'"
