"""Quote names and strings for Spark SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_NEEDS_ESCAPES: Final = re.compile(r"[\\'\x00-\x1F]|\$\{")


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


def string_constant(text: str) -> str:
    """Return an expression for a string that has the same value in every session.

    Sessions can read escapes and doubled quotes in literals differently (``spark.sql.parser.escapedStringLiterals``,
    ``spark.sql.legacy.consecutiveStringLiterals.enabled``). Text that would need them is given by its bytes, and so
    are line breaks, at which ``SHOW TABLE EXTENDED`` would end the text of a view. The bytes are not a binary literal,
    whose value Spark's plans do not show, as a fingerprint of a query needs it.
    """
    if _NEEDS_ESCAPES.search(text):
        encoded = text.encode(errors="replace")
        return f"CAST(unhex('{encoded.hex().upper()}') AS STRING)"
    return f"'{text}'"
