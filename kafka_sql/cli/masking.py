"""Statements without their secrets, for the history and for the echo."""

from __future__ import annotations

import re

from kafka_sql.options.secrets import GAP_PATTERN, is_secret

MASK = "******"

# 'key' = 'value' and what Spark takes for it: other quotes or none, no equals sign; comments in between. A value that
# is not closed reaches to the end. Flink's strings know no backslash: of those that hold one, too much is hidden rather
# than too little.
_OPTION = re.compile(
    r"""(?P<head>(?<![\w.-])(?P<quote>['"`]?)(?P<key>(?:[\w.]|-(?!-))+)(?P=quote)"""
    rf"""{GAP_PATTERN}(?:={GAP_PATTERN})?)"""
    r"""(?P<value>'(?:[^'\\]|\\.|'')*(?:'|\\?$)|"(?:[^"\\]|\\.|"")*(?:"|\\?$))""",
    re.DOTALL,
)
# SET of a key without quotes takes the rest of the statement
_SET = re.compile(
    rf"(?P<head>\bSET\s+(?P<key>[\w.-]+){GAP_PATTERN}={GAP_PATTERN})(?P<value>[^;\s'\"][^;\r\n]*)",
    re.IGNORECASE,
)


def mask_secrets(sql: str) -> str:
    """The text with ``******`` for the values of options whose keys are secret ones."""
    for pattern in (_OPTION, _SET):
        parts, at, kept = [], 0, 0
        while (match := pattern.search(sql, at)) is not None:
            at = match.end("key")  # what looks like this key's value may be the next key
            if is_secret(match["key"]):
                quote = match["value"][0] if match["value"][0] in "'\"" else ""
                parts += [sql[kept : match.start("value")], f"{quote}{MASK}{quote}"]
                kept = at = match.end("value")
        sql = "".join([*parts, sql[kept:]])
    return sql
