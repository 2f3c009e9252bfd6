"""Replace ``${name}`` in statements as Spark's parser does, because Flink's statements do not reach that parser."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.sql import SparkSession

from kafka_sql.errors import StatementError

# without env: and system:, which Spark replaces in its own statements; in WITH, ${env:NAME} is a secret reference
_VARIABLE = re.compile(r"\$\{(?:(?:hivevar|hiveconf|spark|sparkconf):)?([^\s:}]+)\}")


def substitute(spark: SparkSession, statement: str, warn: Callable[[str], None]) -> str:
    """Replace variables with the values in the session's configuration. Unknown variables stay unchanged.

    Args:
        warn: receives a message about each unknown variable: its name could become that of a folder.

    Raises:
        StatementError: the value of a variable refers to the variable itself, directly or through other variables.
    """
    if "${" not in statement or spark.conf.get("spark.sql.variable.substitute", "true") != "true":
        return statement

    def lookup(name: str) -> str | None:
        value = spark.conf.get(name, None)
        if value is None:
            warn(
                f"Variable '{name}' is not defined. Define it with --hivevar {name}=VALUE, or with SET {name} = VALUE."
            )
        return value

    return expand(statement, lookup)


def expand(text: str, lookup: Callable[[str], str | None], enclosing: frozenset[str] = frozenset()) -> str:
    """Replace variables, including those in their values. ``enclosing`` are those whose values contain the text."""

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        value = lookup(name)
        if value is None:
            return match[0]
        if name in enclosing:
            raise StatementError(f"The value of variable '{name}' refers to the variable itself. Change it with SET.")
        return expand(value, lookup, enclosing | {name})

    return _VARIABLE.sub(replace, text)
