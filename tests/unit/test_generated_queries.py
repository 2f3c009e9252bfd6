"""Generated queries and histories: equal seeds, SQL that parses, smaller queries."""

from __future__ import annotations

import re
from typing import Final

import pytest
import sqlglot

from tests.generated_queries.generator import generate_query
from tests.generated_queries.queries import Query, result_columns, sql, unique_key
from tests.generated_queries.shrink import shrink, smaller_queries
from tests.generated_queries.tables import INSERT_ONLY, World, content, generate_world, to_record

_WINDOW: Final = re.compile(r"\w+\(TABLE (\w+)(?: PARTITION BY [^D]*)?, DESC")  # which only Flink has


def test_equal_seeds_give_equal_worlds_and_queries() -> None:
    world = generate_world(3, histories=2)
    assert world == generate_world(3, histories=2)
    assert generate_query(world.tables, 5) == generate_query(world.tables, 5)
    assert {change.history for change in world.history} <= {-1, 0, 1}


@pytest.mark.parametrize("is_keyed", [True, False])
def test_queries_are_sql(is_keyed: bool) -> None:
    tables = generate_world(1, histories=1).tables
    for seed in range(50):
        query = generate_query(tables, seed)
        parsed = sqlglot.parse_one(_WINDOW.sub(r"f(\1, DESC", sql(query, is_keyed)), dialect="spark")
        names = [column.name for column in result_columns(query, is_keyed)]
        assert parsed.named_selects == names  # type: ignore[attr-defined]
        assert set(unique_key(query, is_keyed)) <= set(names)


def test_the_old_row_of_a_change_exists() -> None:
    for seed in range(20):
        world = generate_world(seed, histories=3)
        for table in world.tables:
            changes = world.changes(table.name)
            for i, change in enumerate(changes):
                is_known = change.before is None or content(table, changes[:i])[change.before] > 0
                assert is_known or (change.after is None and table.key)
                key, value = to_record(table, change)
                assert table.kind != INSERT_ONLY or (key is None and value is not None)


def test_a_failing_query_becomes_smaller() -> None:
    world = generate_world(1, histories=4)

    def fails(world: World, query: Query) -> bool:
        return "FULL JOIN" in sql(query) and any(change.history == 2 for change in world.history)

    query = next(q for seed in range(99) if "FULL JOIN" in sql(q := generate_query(world.tables, seed)))
    smaller_world, smaller = shrink(world, query, fails)
    assert len(sql(smaller)) < len(sql(query))
    assert sum(change.history >= 0 for change in smaller_world.history) == 1
    assert all("FULL JOIN" not in sql(q) for q in smaller_queries(smaller))
