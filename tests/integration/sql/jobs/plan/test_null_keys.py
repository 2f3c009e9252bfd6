"""Joins of streams match no NULL with NULL."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration

COLUMNS = "k STRING, x INT, ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
NEAR = "a.ts BETWEEN b.ts - INTERVAL '5' SECOND AND b.ts + INTERVAL '5' SECOND"
WINDOWED = "(SELECT * FROM TABLE(TUMBLE(TABLE {0}, DESCRIPTOR(ts), INTERVAL '1' MINUTE))) AS {0}"
SAME_WINDOW = "a.window_start = b.window_start AND a.window_end = b.window_end"
COMPUTED = "nullif(a.k, '') = nullif(b.k, '')"  # Spark filters only the NULLs of columns
LEFT = [(1, 10), (2, None), (3, None)]
RIGHT = [(None, 20), (None, 30)]


def json_rows(*rows: tuple[str | None, int, str]) -> list[bytes]:
    return [json.dumps({"k": k, "x": x, "ts": f"2026-01-02 08:{time}Z"}).encode() for k, x, time in rows]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("join", "expected"),
    [
        (f"a FULL OUTER JOIN b ON a.k = b.k AND {NEAR}", LEFT + RIGHT),
        (
            f"{WINDOWED.format('a')} FULL OUTER JOIN {WINDOWED.format('b')} ON a.k = b.k AND {SAME_WINDOW}",
            LEFT + RIGHT,
        ),
        (f"a LEFT JOIN b ON {COMPUTED} AND {NEAR}", LEFT),
        (f"a RIGHT JOIN b ON {COMPUTED} AND {NEAR}", [LEFT[0], *RIGHT]),
        (f"a JOIN b ON {COMPUTED} AND {NEAR}", LEFT[:1]),
    ],
    ids=["FULL", "FULL of windows", "LEFT", "RIGHT", "INNER"],
)
def test_joins(
    spark: Any, streaming: Any, topics: Topics, join: str, expected: list[tuple[int | None, int | None]]
) -> None:
    sources = [topics.create() for _ in "ab"]
    for name, topic in zip("ab", sources, strict=True):
        streaming(f"CREATE TABLE {name} ({COLUMNS}) {topics.with_options(topic)}")
    streaming(f"CREATE TABLE tgt (a INT, b INT) {topics.with_options(topics.create())}")
    (job,) = streaming(f"INSERT INTO tgt SELECT a.x, b.x FROM {join}").collect()
    query = spark.streams.get(job[0])
    topics.produce(sources[0], *json_rows(("k", 1, "00:01"), (None, 2, "00:02"), (None, 3, "00:03")))
    topics.produce(sources[1], *json_rows(("k", 10, "00:01"), (None, 20, "00:02"), ("", 30, "00:03")))
    query.processAllAvailable()
    for topic in sources:  # the watermark lets Spark return the rows without a partner
        topics.produce(topic, *json_rows((topic, 0, "10:00")))
    query.processAllAvailable()
    query.stop()
    streaming("SET 'execution.runtime-mode' = 'batch'")
    rows = [tuple(row) for row in streaming("SELECT * FROM tgt").collect()]
    assert sorted(rows, key=str) == sorted(expected, key=str)
