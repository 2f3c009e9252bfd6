"""Compare two queries by their fingerprints: one can resume from the checkpoint of the other, or what has changed."""

from __future__ import annotations

from typing import Final

from kafka_sql.sql.jobs.checkpoints.fingerprint import Json

_FIELD_NAMES: Final = {
    "aggregates": "the aggregates",
    "columns": "the columns",
    "condition": "the join condition",
    "filters": "the filters of the rows",
    "grouping": "the grouping columns",
    "keys": "the columns",
    "left": "the columns of the join's first input",
    "table": "the table",
    "right": "the columns of the join's second input",
    "type": "the join type",
    "window": "the window",
}


def describe_change(old: Json, new: Json, drops_missing_topics: bool = False) -> str | None:
    """Return how a query differs from the one of a checkpoint, or None if it can resume.

    Args:
        drops_missing_topics: whether the new query may stop reading topics ('scan.missing-topics' = 'ignore').
    """
    if not _is_same_table(old["sink"], new["sink"], False):
        return f"the sink changed from {_show_table(old['sink'])} to {_show_table(new['sink'])}"
    old_key, new_key = old["sink"].get("key"), new["sink"].get("key")
    if old_key != new_key:
        return f"the primary key of the sink changed from {_show(old_key)} to {_show(new_key)}"
    if len(old["sources"]) != len(new["sources"]):
        return f"the number of sources changed from {len(old['sources'])} to {len(new['sources'])}"
    for before, after in zip(old["sources"], new["sources"], strict=True):
        if not _is_same_table(before, after, drops_missing_topics):
            return f"a source changed from {_show_table(before)} to {_show_table(after)}"
    names = [[operator["operator"] for operator in query["operators"]] for query in (old, new)]
    if names[0] != names[1]:
        return f"the stateful operators changed from {_show(names[0])} to {_show(names[1])}"
    for before, after in zip(old["operators"], new["operators"], strict=True):
        for field in before:
            if before[field] != after.get(field):
                where = "" if before["operator"] in ("aggregation", "join") else f" of the {before['operator']}"
                return f"{_FIELD_NAMES[field]}{where} changed from {_show(before[field])} to {_show(after.get(field))}"
    return None


def _is_same_table(old: Json, new: Json, drops_missing_topics: bool) -> bool:
    """Return whether two sources, or two sinks, are the same; topics may have been added."""
    if "topics" in old and "topics" in new:
        before, after = set(old["topics"]), set(new["topics"])
        return bool(before & after) if drops_missing_topics else before <= after
    if ("streams" in old) != ("streams" in new):
        return False  # the offsets of a 'dynamic-kafka' table have the clusters of topics
    are_kafka_tables = all("topics" in table or "pattern" in table for table in (old, new))
    # with a pattern, the offsets in the checkpoint show the topics
    return are_kafka_tables or bool(old["name"] == new["name"])


def _show(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value or "none")


def _show_table(table: Json) -> str:
    topics = table.get("topics")
    if topics is None:
        return f"{table['name']} (topic pattern '{table['pattern']}')" if "pattern" in table else str(table["name"])
    return f"{table['name']} (topic '{', '.join(topics)}')"
