"""Operators that keep rows until the watermark passes them, after others that do: no row is late there."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration

WINDOWS: Final = "TABLE(TUMBLE(TABLE a, DESCRIPTOR(t), INTERVAL '2' SECOND))"
COUNTS: Final = (
    "SELECT window_start, window_end, window_time, k, count(*) AS c "
    f"FROM {WINDOWS} GROUP BY window_start, window_end, window_time, k"
)
TOP: Final = "SELECT k, {} FROM (SELECT *, row_number() OVER (PARTITION BY {} ORDER BY {}) AS n FROM ({})) WHERE n = 1"
SUMS: Final = f"SELECT *, sum(v) OVER (PARTITION BY k ORDER BY window_time) AS s FROM {WINDOWS}"
QUERIES: Final = {  # of rows (x, 1), (y, 2) and so on in the seconds 1 to 6, and one much later
    "window Top-N of OVER": (
        TOP.format("s", "window_start, window_end", "s DESC", SUMS),
        [("x", 1), ("x", 4), ("x", 9), ("y", 12)],
    ),
    "first window of each key": (TOP.format("c", "k", "window_time", COUNTS), [("x", 1), ("y", 1)]),
    "SESSION of windows": (
        f"WITH w AS ({COUNTS}) SELECT k, count(*) FROM "
        "TABLE(SESSION(TABLE w PARTITION BY k, DESCRIPTOR(window_time), INTERVAL '1' SECOND)) "
        "GROUP BY k, window_start, window_end",
        [("x", 1), ("x", 1), ("x", 1), ("y", 1), ("y", 1), ("y", 1)],
    ),
    "OVER of ORDER BY": (
        "SELECT k, sum(v) OVER (PARTITION BY k ORDER BY t) FROM (SELECT * FROM a ORDER BY t)",
        [("x", 1), ("x", 4), ("x", 9), ("y", 2), ("y", 6), ("y", 12)],
    ),
}


def _row(key: str, value: int, second: int) -> bytes:
    return json.dumps({"k": key, "v": value, "t": f"2020-10-10 00:00:{second:02}"}).encode()


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", QUERIES)
def test_rows_of_an_operator_that_waits_are_not_late(spark: Any, streaming: Any, topics: Topics, name: str) -> None:
    source, target = topics.create(), topics.create()
    columns = "k STRING, v INT, t TIMESTAMP(3), WATERMARK FOR t AS t - INTERVAL '1' SECOND"
    streaming(f"CREATE TABLE a ({columns}) {topics.with_options(source)}")
    streaming(f"CREATE TABLE tgt (k STRING, n BIGINT) {topics.with_options(target)}")
    query, expected = QUERIES[name]
    for rows in ([_row("yx"[i % 2], i, i) for i in range(1, 7)], [_row("z", 1, 50)]):
        topics.produce(source, *rows)
        run = spark.streams.get(streaming(f"INSERT INTO tgt {query}").collect()[0][0])
        run.processAllAvailable()
        run.stop()
    records = [json.loads(message.value() or b"") for message in topics.consume(target, len(expected))]
    assert sorted((record["k"], record["n"]) for record in records) == expected
