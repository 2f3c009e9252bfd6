"""Mask secrets in statements, for the history and for --verbose."""

from __future__ import annotations

import re

from kafka_sql.options.secrets import GAP_PATTERN, MASK, is_secret, mask_user_info, mask_value

# 'key' = 'value' and its variants in Spark: other or no quotes, no equals sign, comments in between. An unclosed value
# extends to the end. Flink's strings have no backslash escapes; in strings with a backslash, rather mask too much.
_OPTION = re.compile(
    r"""(?P<head>(?<![\w.-])(?P<quote>['"`]?)(?P<key>(?:[\w.]|-(?!-))+)(?P=quote)"""
    rf"""{GAP_PATTERN}(?:={GAP_PATTERN})?)"""
    r"""(?P<value>'(?:[^'\\]|\\.|'')*(?:'|\\?$)|"(?:[^"\\]|\\.|"")*(?:"|\\?$))""",
    re.DOTALL,
)
# SET of an unquoted key: the value is the rest of the statement
_SET_STATEMENT = re.compile(
    rf"(?P<head>\bSET\s+(?P<key>[\w.-]+){GAP_PATTERN}={GAP_PATTERN})(?P<value>[^;\s'\"][^;\r\n]*)",
    re.IGNORECASE,
)


def mask_statement(sql: str) -> str:
    """Return the text with ``******`` for the values of secret options and for user info in URLs."""
    for pattern in (_OPTION, _SET_STATEMENT):
        parts, position, copied_end = [], 0, 0
        while (match := pattern.search(sql, position)) is not None:
            position = match.end("key")  # the apparent value may be the next key
            masked_value = _mask_literal(match["key"], match["value"])
            if masked_value != match["value"]:
                parts += [sql[copied_end : match.start("value")], masked_value]
                copied_end = position = match.end("value")
        sql = "".join([*parts, sql[copied_end:]])
    return mask_user_info(sql)


def _mask_literal(key: str, literal: str) -> str:
    """Return an option's value, which may be in quotes, as it may be shown."""
    quote = literal[0] if literal[0] in "'\"" else ""
    return f"{quote}{MASK}{quote}" if is_secret(key) else mask_value(key, literal)
