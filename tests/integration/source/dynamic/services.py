"""Metadata services for tests of the connector 'dynamic-kafka'."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def from_files(stream_ids: list[str] | None, properties: dict[str, str]) -> dict[str, Any]:
    """Return the streams whose ids are paths of JSON files."""
    return {path: json.loads(Path(path).read_text()) for path in stream_ids or () if Path(path).exists()}
