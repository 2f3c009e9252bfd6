"""A session without Spark: a configuration and streaming queries."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Configuration:
    """A session's configuration."""

    def __init__(self, **settings: str) -> None:
        self.settings = settings

    def get(self, key: str, default: str | None = None) -> str | None:
        return self.settings.get(key, default)

    def set(self, key: str, value: str) -> None:
        self.settings[key] = value

    def unset(self, key: str) -> None:
        self.settings.pop(key, None)


class Query:
    """A streaming query."""

    def __init__(self, id: str, run: str = "run-1", name: str | None = None) -> None:
        self.id, self.runId, self.name = id, run, name
        self.isActive, self.failure = True, None
        self.recentProgress: list[Any] = []
        self.stops = 0

    def exception(self) -> Exception | None:
        return self.failure

    def stop(self) -> None:
        self.isActive, self.stops = False, self.stops + 1


class Session:
    """A session with a configuration and queries."""

    def __init__(self, *active: Query, **settings: str) -> None:
        self.conf = Configuration(**settings)
        self.streams = SimpleNamespace(active=list(active))

    def createDataFrame(self, rows: Any, schema: Any = None) -> Any:
        return rows.to_pylist() if hasattr(rows, "to_pylist") else rows
