"""Check whether a table can be read and written in real-time mode."""

from __future__ import annotations

from kafka_sql.checks.finding import Finding
from kafka_sql.definition import Definition
from kafka_sql.errors import KafkaSqlError
from kafka_sql.realtime.checks import check_sink, check_source
from kafka_sql.realtime.client_properties import java_properties


def check_real_time_mode(definition: Definition) -> Finding:
    """Return whether streaming INSERTs can read and write a table in real-time mode. If not, it is no failure."""
    reasons: dict[str, str] = {}
    for operation, check in (("read", check_source), ("written", check_sink)):
        try:
            check(definition)
            java_properties(definition)
            reasons[operation] = ""
        except KafkaSqlError as e:
            reasons[operation] = e.message
    parts = []
    for reason in dict.fromkeys(reasons.values()):
        operations = [operation for operation in reasons if reasons[operation] == reason]
        parts.append(
            f"cannot be {' or '.join(operations)}: {reason}" if reason else f"can be {' and '.join(operations)}"
        )
    return Finding(definition.name, "real-time mode", True if "" in reasons.values() else None, "; ".join(parts))
