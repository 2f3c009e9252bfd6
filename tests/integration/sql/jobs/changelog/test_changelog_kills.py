"""Drivers, workers and the broker are killed during queries over changelogs: the final content is right."""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.embedded import EmbeddedKafka
from tests.changelog_histories import (
    Key,
    Row,
    decimal,
    expected_values,
    final_content,
    interleave,
    make_history,
    write,
)
from tests.kills import spark
from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long]

HISTORIES, FAULTS = 40, ("worker", "driver", "broker") * 4
CHANGES_PER_FAULT = 5  # of each history
TIMEOUT = 300.0  # seconds
SENT_BEFORE_FAULT = 2.0  # maximum seconds


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("query", "seed"),
    [
        ("aggregate of changes", 1),
        ("aggregate of upserts", 2),
        ("join of changes", 3),
        ("aggregate of an aggregate", 4),
    ],
)
def test_kills(tmp_path: Path, query: str, seed: int) -> None:
    read, expect = CONTENTS[query]
    rng = random.Random(seed)
    faults = rng.sample(FAULTS, len(FAULTS))
    by_history = [make_history(number, CHANGES_PER_FAULT * len(faults)) for number in range(HISTORIES)]
    content = {key: row for changes in by_history for key, row in final_content(changes).items()}
    with EmbeddedKafka() as kafka:
        topics = Topics(kafka.bootstrap_servers)
        cdc, upserts, target = topics.create(spark.KEYS), topics.create(spark.KEYS), topics.create(spark.KEYS)
        source = upserts if query == "aggregate of upserts" else cdc

        @contextmanager
        def driver() -> Iterator[tuple[int, int]]:
            with spark.running_query(
                kafka.bootstrap_servers, source, target, tmp_path, "local[2,8]", query
            ) as processes:
                yield processes

        killed = 0
        remaining = list(enumerate(faults))
        while remaining:
            with driver() as (python, java):
                while remaining:
                    index, fault = remaining.pop(0)
                    count = len(spark.committed_rows(kafka.bootstrap_servers, target))
                    part = slice(CHANGES_PER_FAULT * index, CHANGES_PER_FAULT * (index + 1))
                    write(topics, cdc, upserts, interleave(by_history, part), spark.KEYS)
                    time.sleep(rng.uniform(0, SENT_BEFORE_FAULT))  # at a random point of a batch
                    if fault == "driver":
                        killed += spark.kill([java, python]) // 2
                        break
                    if fault == "worker":
                        killed += spark.kill(spark.workers(java)) > 0
                    else:
                        kafka.nodes[0].kill()
                        kafka.nodes[0].restart()
                        killed += 1
                    wait_until(
                        lambda before=count: len(spark.committed_rows(kafka.bootstrap_servers, target)) > before,
                        "progress",
                        TIMEOUT,
                    )
                    spark.assert_running(python, tmp_path)
        assert killed >= 2 * len(faults) // 3
        with driver() as (python, _):
            expected = expect(content)
            wait_until(lambda: read(kafka.bootstrap_servers, target) == expected, "all results", TIMEOUT)
            time.sleep(2)  # results that arrive now would be duplicates
            spark.assert_running(python, tmp_path)
            assert read(kafka.bootstrap_servers, target) == expected


def table_content(bootstrap: str, topic: str) -> set[tuple[Any, ...]]:
    """Return the rows of the target after its committed upserts and tombstones."""
    rows: dict[tuple[int, int], tuple[Any, ...]] = {}
    for row in spark.committed_rows(bootstrap, topic):
        key = row["h"], row["g"]
        rows.pop(key, None)
        if "n" in row:
            decimals = (
                None if row[c] is None else Decimal(str(row[c])).quantize(Decimal("0.01")) for c in ("s", "low", "high")
            )
            rows[key] = (*key, row["n"], *decimals, row["d"])
    return set(rows.values())


def replayed_content(bootstrap: str, topic: str) -> Counter[tuple[Any, ...]]:
    """Return the rows of the target after its committed changes; one that was written twice counts twice."""
    content: Counter[tuple[Any, ...]] = Counter()
    for change in spark.committed_rows(bootstrap, topic):
        for name, count in (("before", -1), ("after", 1)):
            if change[name] is not None:
                content[tuple(as_decimal(value) for value in change[name].values())] += count
    return Counter({row: count for row, count in content.items() if count})


def as_decimal(value: Any) -> Any:
    return Decimal(str(value)).quantize(Decimal("0.01")) if isinstance(value, float) else value


def expected_joins(content: dict[Key, Row]) -> Counter[tuple[Any, ...]]:
    """Return the rows of LEFT JOIN with the rows whose ``g`` is the row's ``k``."""
    matches: dict[Key, list[Row]] = defaultdict(list)
    for row in content.values():
        matches[row["h"], row["g"]].append(row)
    return Counter(
        (h, k, None if match is None else match["k"], decimal(row), None if match is None else decimal(match))
        for (h, k), row in content.items()
        for match in matches.get((h, k), [None])
    )


def expected_sizes(content: dict[Key, Row]) -> Counter[tuple[Any, ...]]:
    """Return the number and the sum of the groups of each size."""
    groups: dict[Key, list[Row]] = defaultdict(list)
    for row in content.values():
        groups[row["h"], row["g"]].append(row)
    sizes: dict[Key, list[list[Row]]] = defaultdict(list)
    for (h, _), rows in groups.items():
        sizes[h, len(rows)].append(rows)
    result: Counter[tuple[Any, ...]] = Counter()
    for (h, n), of_size in sizes.items():
        values = [value for rows in of_size for row in rows if (value := decimal(row)) is not None]
        result[h, n, len(of_size), sum(values) if values else None] += 1
    return result


# how the content of the target is read, and what it must be for the content of the source
CONTENTS: dict[str, tuple[Callable[[str, str], Any], Callable[[dict[Key, Row]], Any]]] = {
    "aggregate of changes": (table_content, lambda content: expected_values(content, 1)),
    "aggregate of upserts": (table_content, lambda content: expected_values(content, 1)),
    "join of changes": (replayed_content, expected_joins),
    "aggregate of an aggregate": (replayed_content, expected_sizes),
}
