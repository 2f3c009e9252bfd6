"""Generated continuous queries have the content of the batch queries, however they are cut and restarted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.generated_queries.generator import generate_query
from tests.generated_queries.queries import sql
from tests.generated_queries.streams import EQUAL, REFUSED, run_queries
from tests.generated_queries.tables import generate_world
from tests.topics import Topics

pytestmark = pytest.mark.integration

QUERIES = 10  # per world


def check(spark: Any, topics: Topics, seed: int, seeds: Sequence[int], histories: int) -> None:
    """Run queries over a world; no difference and no error after the start is allowed."""
    is_keyed = seed % 5 != 4
    world = generate_world(seed, histories if is_keyed else 1)
    queries = [generate_query(world.tables, number) for number in seeds]
    for number, (query, outcome) in zip(
        seeds, run_queries(spark, topics, world, queries, is_keyed=is_keyed), strict=True
    ):
        command = f"python -m tests.generated_queries --first {seed} --count 1 --only {number}"
        assert outcome.outcome in (EQUAL, REFUSED), f"{command}\n{outcome}\n{sql(query, is_keyed)}"


def test_a_sample_of_generated_queries(spark: Any, topics: Topics) -> None:
    # a common table expression with a join and an aggregate, a scalar subquery, an aggregate of an outer join
    check(spark, topics, 0, (1, 3, 4), histories=20)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(1, 31))
def test_generated_queries(spark: Any, topics: Topics, seed: int) -> None:
    check(spark, topics, seed, range(QUERIES), histories=100)
