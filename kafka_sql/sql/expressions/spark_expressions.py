"""Describe what the Spark session knows about expressions, which this package, without a session, cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_sql.sql.grammar.types import FlinkType


@dataclass(frozen=True)
class SparkExpressions:
    """The session's functions and types.

    Attributes:
        find_function: returns the name in SQL of a function that was registered or created by a user, or None. The
            argument is the name as it is called.
        type_of: returns the type of a Spark SQL expression over columns of the given types. It raises
            UntranslatableError if Spark cannot evaluate the expression.
    """

    find_function: Callable[[str], str | None]
    type_of: Callable[[str, Mapping[str, FlinkType]], FlinkType]
