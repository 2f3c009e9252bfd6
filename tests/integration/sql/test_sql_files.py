"""Run every SQL file on a real broker: the cases in tests/sql/rows, and all examples.

Most files with continuous queries, and variants of a format, are long: other tests check the rows of each capability
that they show.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.shell_output import shell_sql
from tests.sql_script import REGISTRY, run_script
from tests.topics import Topics

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "ddl_examples"
FILES = sorted([*(ROOT / "tests/sql/rows").glob("*.sql"), *EXAMPLES.glob("*.sql")])
LONG = (
    *("admission_control", "bounded_queries", "deduplication", "enrichment", "event_time", "exactly_once"),
    *("kafka_to_lake", "temporal_join", "upsert_aggregate", "windows"),
    *("flink_debezium_avro", "flink_debezium_schema", "statement_set_streaming", "streaming"),
)


def marks(path: Path) -> list[pytest.MarkDecorator]:
    """Return the marks of a file."""
    return [pytest.mark.long] if path.stem in LONG else []


@pytest.mark.parametrize("path", [pytest.param(p, marks=marks(p), id=f"{p.parent.name}/{p.stem}") for p in FILES])
def test_file(path: Path, sql: Any, topics: Topics, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    registry = request.getfixturevalue("registry").url if REGISTRY in path.read_text() else REGISTRY
    is_job_file = path.parent == EXAMPLES and "execution.checkpointing.dir" in path.read_text()
    assert run_script(path, sql, topics, tmp_path, registry, restarts=is_job_file) > 1


IN_SHELL = ("hostile", "metadata_all", "settings", "types", "unicode")  # others are long


@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=[] if p.stem in IN_SHELL else pytest.mark.long, id=p.stem) for p in FILES]
)
def test_the_shell_prints_the_rows(
    path: Path,
    spark: Any,
    sql: Any,
    topics: Topics,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = request.getfixturevalue("registry").url if REGISTRY in path.read_text() else REGISTRY
    assert run_script(path, shell_sql(spark, monkeypatch), topics, tmp_path, registry) > 1
