"""Run every SQL file on a real broker: the cases in tests/sql/rows, and all examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sql_script import REGISTRY, run_script
from tests.topics import Topics

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[3]
FILES = sorted([*(ROOT / "tests/sql/rows").glob("*.sql"), *(ROOT / "ddl_examples").glob("*.sql")])


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_file(path: Path, sql: Any, topics: Topics, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    registry = request.getfixturevalue("registry").url if REGISTRY in path.read_text() else REGISTRY
    assert run_script(path, sql, topics, tmp_path, registry) > 1
