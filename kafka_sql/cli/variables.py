"""``${name}`` in statements, as Spark's own parser replaces it, for Flink's statements, which that does not see."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.sql import SparkSession

from kafka_sql.errors import StatementError

# env and system are left: Spark replaces them in its own statements, and in WITH ${env:NAME} stays a reference
_VARIABLE = re.compile(r"\$\{(?:(?:hivevar|hiveconf|spark|sparkconf):)?([^\s:}]+)\}")


def substitute(spark: SparkSession, statement: str) -> str:
    """The statement with the values of the session's configuration; names that are not set stay as they are.

    Raises:
        StatementError: a variable's value leads back to itself.
    """
    if "${" not in statement or spark.conf.get("spark.sql.variable.substitute", "true") != "true":
        return statement
    return expand(statement, lambda name: spark.conf.get(name, None))


def expand(text: str, find: Callable[[str], str | None], within: frozenset[str] = frozenset()) -> str:
    """The text with the values that ``find`` gives, and theirs; ``within`` are the variables it is the value of."""

    def value(match: re.Match[str]) -> str:
        found = find(match[1])
        if found is None:
            return match[0]
        if match[1] in within:
            raise StatementError(f"The value of the variable '{match[1]}' contains ${{{match[1]}}} itself; see SET.")
        return expand(found, find, within | {match[1]})

    return _VARIABLE.sub(value, text)
