"""Random histories of inserts, updates and deletes: the final content equals that of a model.

The histories are independent, and share topics: each row has the number of its history. Queries are stopped and resumed
in the middle.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import Any

import pytest

from tests.changelog_histories import (
    COLUMNS,
    PARTITIONS,
    Change,
    Key,
    Row,
    decimal,
    expected_values,
    final_content,
    interleave,
    make_history,
    write,
)
from tests.topics import Topics

pytestmark = pytest.mark.integration

HISTORIES, COUNT = 120, 60  # histories, and changes of each, for queries with state


def expected_groups(content: dict[Key, Row]) -> set[tuple[Any, ...]]:
    """Return the rows of the aggregate: groups of at least two rows."""
    groups: dict[tuple[int, int], list[Decimal | None]] = defaultdict(list)
    for row in content.values():
        groups[row["h"], row["g"]].append(decimal(row))
    result = set()
    for (h, g), all_values in groups.items():
        values = [value for value in all_values if value is not None]
        if len(all_values) > 1:
            total = sum(values, Decimal()) if values else None
            average = None if total is None else (total / len(values)).quantize(Decimal("0.000001"), "ROUND_HALF_UP")
            result.add((h, g, len(all_values), len(values), total, average))
    return result


@pytest.mark.parametrize(
    ("histories", "count"), [(40, 60), pytest.param(1000, 200, marks=pytest.mark.long)], ids=["sample", "all"]
)
def test_histories(spark: Any, streaming: Any, topics: Topics, histories: int, count: int) -> None:
    by_history = [make_history(number, count) for number in range(histories)]
    content = {key: row for changes in by_history for key, row in final_content(changes).items()}
    cdc, upserts = topics.create(PARTITIONS), topics.create(PARTITIONS)
    exactly_once = {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "histories"}
    key = "PRIMARY KEY (h, k) NOT ENFORCED"
    streaming(f"CREATE TABLE cdc ({COLUMNS}, {key}) {topics.with_options(cdc, format='debezium-json')}")
    streaming(f"CREATE TABLE upserts ({COLUMNS}, {key}) {topics.with_upsert_options(upserts)}")
    for name, options in (("copied", exactly_once), ("large", {}), ("small", {})):
        table = topics.with_upsert_options(topics.create(2), **options)
        streaming(f"CREATE TABLE {name} ({COLUMNS}, {key}) {table}")
    streaming(
        "CREATE TABLE grouped (h INT, g INT, n BIGINT, c BIGINT, s DECIMAL(20, 2), a DECIMAL(14, 6), "
        f"PRIMARY KEY (h, g) NOT ENFORCED) {topics.with_upsert_options(topics.create(2))}"
    )
    for half in (slice(None, count // 2), slice(count // 2, None)):
        write(topics, cdc, upserts, interleave(by_history, half))
        jobs = streaming(
            """EXECUTE STATEMENT SET BEGIN
            INSERT INTO copied SELECT * FROM cdc;
            INSERT INTO large SELECT h, k, g, v FROM cdc WHERE v > 50;
            INSERT INTO small SELECT h, k, g, v FROM upserts WHERE v <= 50;
            INSERT INTO grouped
              SELECT h, g, count(*), count(v), sum(v), avg(v) FROM cdc GROUP BY h, g HAVING count(*) > 1;
            END"""
        )
        queries = [spark.streams.get(row[0]) for row in jobs.collect()]
        for query in queries:
            query.processAllAvailable()
            query.stop()
    streaming("SET 'execution.runtime-mode' = 'batch'")
    rows = {
        name: {tuple(row) for row in streaming(f"SELECT * FROM {name}").collect()}
        for name in ("copied", "large", "small", "grouped")
    }
    all_rows = {(row["h"], row["k"], row["g"], decimal(row)) for row in content.values()}
    assert rows["copied"] == all_rows
    assert rows["large"] == {row for row in all_rows if row[3] is not None and row[3] > 50}
    assert rows["small"] == {row for row in all_rows if row[3] is not None and row[3] <= 50}
    assert rows["grouped"] == expected_groups(content)


def newest_rows(changes: list[Change], drops_equal: bool) -> set[tuple[Any, ...]]:
    """Return the newest row of each group.

    Args:
        drops_equal: whether an update that changes nothing is ignored, so that it does not make a row the newest.
    """
    groups: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for _, old, new in changes:
        if drops_equal and old == new:
            continue
        if old is not None:
            groups[old["h"], old["g"]].remove(old)
        if new is not None:
            groups[new["h"], new["g"]].append(new)
    return {(row["h"], row["k"], row["g"], decimal(row)) for rows in groups.values() for row in rows[-1:]}


@pytest.mark.long
def test_histories_with_state(spark: Any, streaming: Any, topics: Topics) -> None:
    by_history = [make_history(number, COUNT) for number in range(HISTORIES)]
    content = {key: row for changes in by_history for key, row in final_content(changes).items()}
    cdc, upserts = topics.create(), topics.create()  # of one partition, so that the order of all changes is known
    key, group_key = "PRIMARY KEY (h, k) NOT ENFORCED", "PRIMARY KEY (h, g) NOT ENFORCED"
    streaming(f"CREATE TABLE cdc ({COLUMNS}, {key}) {topics.with_options(cdc, format='debezium-json')}")
    streaming(f"CREATE TABLE upserts ({COLUMNS}, {key}) {topics.with_upsert_options(upserts)}")
    values = "h INT, g INT, n BIGINT, s DECIMAL(20, 2), low DECIMAL(10, 2), high DECIMAL(10, 2), d BIGINT"
    aggregate = "SELECT h, g, count(*), sum(v), min(v), max(v), count(DISTINCT k % 3) FROM {} GROUP BY h, g"
    queries = {
        "grouped": (values, "upserts", aggregate.format("cdc")),
        "of_upserts": (values, "upserts", aggregate.format("upserts") + " HAVING count(*) > 1"),
        "images": (values, "debezium-json", aggregate.format("upserts")),
        "newest": (COLUMNS, "upserts", "SELECT * FROM cdc"),
        "of_newest": (COLUMNS, "upserts", "SELECT * FROM upserts"),
    }
    for name, (columns, format_, _) in queries.items():
        topic = topics.create()
        options = (
            topics.with_upsert_options(topic) if format_ == "upserts" else topics.with_options(topic, format=format_)
        )
        streaming(f"CREATE TABLE {name} ({columns}, {group_key}) {options}")
    inserts = "; ".join(f"INSERT INTO {name} {query}" for name, (_, _, query) in queries.items())
    for part in range(0, COUNT, COUNT // 3):  # each resumes from the checkpoints, and has several micro-batches
        jobs = streaming(f"EXECUTE STATEMENT SET BEGIN {inserts}; END").collect()
        for start in range(part, part + COUNT // 3, 5):
            write(topics, cdc, upserts, interleave(by_history, slice(start, start + 5)), 1)
        for job in jobs:
            query = spark.streams.get(job[0])
            query.processAllAvailable()
            query.stop()
    streaming("SET 'execution.runtime-mode' = 'batch'")
    rows = {name: {tuple(row) for row in streaming(f"SELECT * FROM {name}").collect()} for name in queries}
    changes = interleave(by_history, slice(None))
    assert rows["grouped"] == rows["images"] == expected_values(content, 1)
    assert rows["of_upserts"] == expected_values(content, 2)
    assert rows["newest"] == newest_rows(changes, False)
    assert rows["of_newest"] == newest_rows(changes, True)
