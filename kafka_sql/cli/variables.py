"""Replace ``${name}`` in statements as Spark's parser does, because Flink's statements do not reach that parser."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.sql import SparkSession

from kafka_sql.errors import StatementError

# not env and system: Spark replaces them in its own statements, and in WITH, ${env:NAME} is a secret reference
_VARIABLE = re.compile(r"\$\{(?:(?:hivevar|hiveconf|spark|sparkconf):)?([^\s:}]+)\}")


def substitute(spark: SparkSession, statement: str) -> str:
    """Replace variables by the session's configuration; unknown names stay unchanged.

    Raises:
        StatementError: a variable's value refers to the variable itself.
    """
    if "${" not in statement or spark.conf.get("spark.sql.variable.substitute", "true") != "true":
        return statement
    return expand(statement, lambda name: spark.conf.get(name, None))


def expand(text: str, find: Callable[[str], str | None], within: frozenset[str] = frozenset()) -> str:
    """Replace variables by the values of ``find``, recursively; ``within`` are the variables being replaced."""

    def value(match: re.Match[str]) -> str:
        replacement = find(match[1])
        if replacement is None:
            return match[0]
        if match[1] in within:
            raise StatementError(
                f"Variable '{match[1]}' contains ${{{match[1]}}} in its own value. Change it with SET."
            )
        return expand(replacement, find, within | {match[1]})

    return _VARIABLE.sub(value, text)
