"""Quote names and strings for Spark SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable


def quote(name: str) -> str:
    """Return an identifier in backquotes, as both Flink and Spark write it."""
    return "`" + name.replace("`", "``") + "`"


def qualified_name(parts: Iterable[str]) -> str:
    """Return a qualified name with each part in backquotes."""
    return ".".join(map(quote, parts))


def like_pattern(name: str) -> str:
    """Return the SHOW ... LIKE pattern for a name; ``*`` replaces characters other than letters, digits and ``_``."""
    return re.sub(r"\W", "*", name, flags=re.ASCII)


def string_literal(text: str) -> str:
    """Return a Spark SQL string literal.

    The brace is escaped so that Spark does not substitute ``${...}``.
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "$\\{") + "'"
