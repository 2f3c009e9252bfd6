"""A session in streaming mode, for tests of continuous queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def streaming(sql: Any, tmp_path: Path) -> Any:
    """Return ``sql`` in streaming mode, with a checkpoint folder."""
    sql("SET 'execution.runtime-mode' = 'streaming'")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    return sql
