"""Statements without their secrets, for the history and for the echo."""

from __future__ import annotations

import re

from kafka_sql.options.secrets import is_secret

MASK = "******"

# 'key' = 'value' and what Spark takes for it: other quotes or none, no equals sign. A value that is not closed reaches
# to the end. Flink's strings know no backslash: of those that hold one, too much is hidden rather than too little.
_OPTION = re.compile(
    r"""(?P<head>(?<![\w.-])(?P<quote>['"`]?)(?P<key>[\w.-]+)(?P=quote)\s*=?\s*)"""
    r"""(?P<value>'(?:[^'\\]|\\.|'')*(?:'|\\?$)|"(?:[^"\\]|\\.|"")*(?:"|\\?$))""",
    re.DOTALL,
)
# SET of a key without quotes takes the rest of the statement
_SET = re.compile(r"(?P<head>\bSET\s+(?P<key>[\w.-]+)\s*=\s*)(?P<value>[^;\s'\"][^;\r\n]*)", re.IGNORECASE)


def masked(sql: str) -> str:
    """The text with ``******`` for the values of options whose keys are secret ones."""
    return _SET.sub(_hide, _OPTION.sub(_hide, sql))


def _hide(match: re.Match[str]) -> str:
    if not is_secret(match["key"]):
        return match[0]
    quote = match["value"][0] if match["value"][0] in "'\"" else ""
    return f"{match['head']}{quote}{MASK}{quote}"
