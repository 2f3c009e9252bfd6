"""Drivers, workers and the broker are killed during an aggregate over a changelog: the final content is right."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.embedded import EmbeddedKafka
from tests.changelog_histories import expected_values, final_content, interleave, make_history, write
from tests.kills import spark
from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long]

HISTORIES, FAULTS = 40, ("worker", "driver", "broker") * 4
CHANGES_PER_FAULT = 5  # of each history
TIMEOUT = 300.0  # seconds
SENT_BEFORE_FAULT = 2.0  # maximum seconds


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("query", "seed"), [("aggregate of changes", 1), ("aggregate of upserts", 2)])
def test_kills_of_aggregates(tmp_path: Path, query: str, seed: int) -> None:
    rng = random.Random(seed)
    faults = rng.sample(FAULTS, len(FAULTS))
    by_history = [make_history(number, CHANGES_PER_FAULT * len(faults)) for number in range(HISTORIES)]
    content = {key: row for changes in by_history for key, row in final_content(changes).items()}
    with EmbeddedKafka() as kafka:
        topics = Topics(kafka.bootstrap_servers)
        cdc, upserts, target = topics.create(spark.KEYS), topics.create(spark.KEYS), topics.create(spark.KEYS)
        source = cdc if query == "aggregate of changes" else upserts

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
            expected = expected_values(content, 1)
            wait_until(lambda: table_content(kafka.bootstrap_servers, target) == expected, "all results", TIMEOUT)
            time.sleep(2)  # results that arrive now would be duplicates
            spark.assert_running(python, tmp_path)
            assert table_content(kafka.bootstrap_servers, target) == expected


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
