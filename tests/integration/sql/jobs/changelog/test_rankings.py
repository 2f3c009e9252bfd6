"""What the plan of a query says of its window functions: the columns and ranks that it needs, orders and frames."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.spark.catalyst import analyzed_plan, column_id, output
from kafka_sql.spark.expression_text import render
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.sql.jobs.changelog.rankings import find_rankings
from kafka_sql.sql.jobs.changelog.windows import waits_for_watermark

pytestmark = pytest.mark.integration

NUMBERED = "SELECT *, row_number() OVER (PARTITION BY k ORDER BY b) AS n FROM events"


@pytest.fixture
def events(spark: Any) -> Any:
    """A stream, as a view."""
    rows = spark.readStream.format("rate").load().selectExpr("value a", "value b", "value c", "value k", "timestamp t")
    rows.withWatermark("t", "1 second").createOrReplaceTempView("events")
    yield spark
    spark.catalog.dropTempView("events")


@pytest.mark.parametrize(
    ("query", "needed"),
    [
        (f"SELECT a FROM ({NUMBERED}) WHERE n <= 2", {"a"}),
        (f"SELECT a FROM ({NUMBERED}) WHERE n <= 2 AND c < 5", {"a", "c"}),
        (f"SELECT a FROM (SELECT a, n, c + 1 AS d FROM ({NUMBERED})) WHERE n <= 2 AND d < 5", {"a", "c"}),
        (
            f"WITH r AS ({NUMBERED}) SELECT a FROM r WHERE n <= 2 AND c < 5 UNION ALL SELECT a FROM r WHERE n <= 1",
            {"a", "c"},
        ),
    ],
)
def test_a_column_with_bounds_is_needed(events: Any, query: str, needed: set[str]) -> None:
    plan = analyzed_plan(events.sql(query))
    ((ids, ranking),) = find_rankings(plan).items()
    assert (ranking.ranks, ranking.has_rank) == (range(1, 3), False)
    (window,) = [o for o in read_plan(events.sql(NUMBERED)).walk() if o.name == "Window"]
    assert len(ids) == len(window.output)
    assert ranking.needed is not None
    names = {column_id(c): str(c.name()) for leaf in _nodes(plan) for c in output(leaf)}
    assert {names[id] for id in ranking.needed} == needed


def _nodes(plan: Any) -> Any:
    yield plan
    for i in range(plan.children().size()):
        yield from _nodes(plan.children().apply(i))


def test_the_order_and_the_frame_are_in_the_text_of_a_window_function(events: Any) -> None:
    windows = [
        "ORDER BY a",
        "ORDER BY a NULLS LAST",
        "ORDER BY a DESC",
        "ORDER BY a DESC NULLS FIRST",
        "ORDER BY a ROWS UNBOUNDED PRECEDING",
        "ORDER BY a ROWS 1 PRECEDING",
    ]
    texts = set()
    for window in windows:
        plan = read_plan(events.sql(f"SELECT sum(a) OVER ({window}) FROM events"))
        texts |= {render(o.columns[-1]) for o in plan.walk() if o.name == "Window"}
    assert len(texts) == len(windows)


@pytest.mark.parametrize(
    ("query", "waits"),
    [
        ("SELECT * FROM events WHERE a < 5", False),
        ("SELECT * FROM events ORDER BY t", True),
        ("SELECT count(*) OVER (PARTITION BY k ORDER BY t) FROM events", True),
        ("SELECT count(*) OVER (PARTITION BY k ORDER BY a) FROM events", False),
        ("SELECT count(*) OVER (PARTITION BY k ORDER BY t DESC) FROM events", False),
        ("SELECT window, count(*) FROM events GROUP BY window(t, '1 second')", True),
        ("SELECT k, count(*) FROM events GROUP BY k", False),
        ("SELECT * FROM events JOIN VALUES (1) AS v (x) ON k = x", False),
    ],
)
def test_which_operators_wait_for_the_watermark(events: Any, query: str, waits: bool) -> None:
    assert waits_for_watermark(read_plan(events.sql(query))) is waits
