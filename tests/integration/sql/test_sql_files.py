"""Run every SQL file on a real broker: the cases in tests/sql/rows, and all examples.

Most files are long: other tests check the rows of each capability that they show.
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
GATE = (
    *("avro_confluent", "change_data_capture", "csv", "key_prefix", "like_and_alter", "startup_modes", "upsert"),
    *("alter", "error_handling", "flink_formats", "flink_kafka", "flink_upsert_kafka", "insert_columns", "key_both"),
    *("names", "raw", "temporary", "tombstones", "unsupported_statements"),
)
IN_SHELL = ("hostile", "metadata_all", "settings", "types", "unicode")  # these are run in the shell


def files(gate: tuple[str, ...]) -> list[Any]:
    """Return all files as parameters. Those that are not part of the gate are long."""
    return [
        pytest.param(p, marks=[] if p.stem in gate else pytest.mark.long, id=f"{p.parent.name}/{p.stem}") for p in FILES
    ]


@pytest.mark.sample(12)
@pytest.mark.parametrize("path", files(GATE))
def test_file(path: Path, sql: Any, topics: Topics, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    registry = request.getfixturevalue("registry").url if REGISTRY in path.read_text() else REGISTRY
    is_job_file = path.parent == EXAMPLES and "execution.checkpointing.dir" in path.read_text()
    assert run_script(path, sql, topics, tmp_path, registry, restarts=is_job_file) > 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("path", files(IN_SHELL))
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
