"""The table of functions with other results in Flink is what both engines compute."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_sql.sql.function_differences import Difference, differences
from tests.function_differences.__main__ import compare, create_views, render, with_results
from tests.function_differences.compare import example_instead
from tests.function_differences.flink import flink_lines
from tests.function_differences.values import FLINK_VALUES

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(3600)]
SAMPLE = 100


@pytest.fixture
def session(spark: Any) -> Iterator[Any]:
    """Return a session without code generation, which would take longer than evaluating these few rows."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for key, value in settings.items():
        spark.conf.set(key, value)
    create_views(spark)
    yield spark
    for key in settings:
        spark.conf.unset(key)


def rows() -> list[Difference]:
    return [row for of_name in differences().values() for row in of_name]


def test_results_of_both_engines(session: Any) -> None:
    assert with_results(session, rows()) == rows()


def test_expressions_with_flinks_results(session: Any) -> None:
    for row in rows():
        if instead := example_instead(row):
            (value,) = session.sql(f"SELECT {instead}").collect()[0]
            value = str(value).replace("inf", "Infinity") if isinstance(value, float) else value
            assert render(value) == row.flink, row


def test_a_sample_of_flinks_values_is_equal_to_a_fresh_run() -> None:
    lines = FLINK_VALUES[0].read_text().splitlines(keepends=True)
    sample = random.Random(SAMPLE).sample(lines, SAMPLE)
    calls = [tuple(line.split("\t")[::2][:2]) for line in sample]
    fresh = flink_lines((table, expression) for table, expression in calls)
    assert sorted(fresh.splitlines(keepends=True)) == sorted(sample)


def test_every_difference_has_a_warning(session: Any) -> None:
    assert not compare(session)
