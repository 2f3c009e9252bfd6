"""List the first words of the statements that kafka_sql may have to run, for the classifier and for Spark's own shells.

The build of the jar calls this module, so it imports only the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# What follows the word in a statement that only kafka_sql can run, as a regular expression; None if tables decide.
FIRST_WORDS: Final[Mapping[str, str | None]] = {
    "CREATE": r"\s.*\bWITH\s*[(]",
    "SET": r"\s*'",
    "RESET": r"\s*'",
    "EXECUTE": r"\s+STATEMENT\b",
    "BEGIN": r"\s+STATEMENT\b",
    "SHOW": r"\s+JOB",
    "STOP": r"\s+JOB",
    **dict.fromkeys(("ALTER", "COMPILE", "DESC", "DESCRIBE", "DROP", "EXPLAIN", "INSERT", "REPLACE", "STATEMENT")),
    **dict.fromkeys(("ANALYZE", "COMMENT", "DELETE", "MERGE", "TRUNCATE", "UPDATE", "USE", "WITH")),
}
_BLANK: Final = r"(?:\s++|--[^\n]*+|/[*].*?[*]/)*+"
_READ_KAFKA: Final = r".*\bread_kafka`?\s*[(]"


def starts_python_pattern() -> str:
    """Return the regular expression of the statements for which ``Statements.java`` starts Python.

    It matches the whole text, without case, and a dot matches a line break.
    """
    statements = [word + following for word, following in FIRST_WORDS.items() if following is not None]
    return f"{_BLANK}(?:{'|'.join([*statements, _READ_KAFKA])}).*"
