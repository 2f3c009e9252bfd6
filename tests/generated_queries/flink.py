"""Run generated queries in Flink, with ``FlinkQueries.java``."""

from __future__ import annotations

import json
import subprocess
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from tests.flink_command import flink_command
from tests.generated_queries.contents import Expected, render, without_last_rows
from tests.generated_queries.queries import Query, result_columns, sql
from tests.generated_queries.tables import DELAY, INSERT_ONLY, UPSERT, Change, Row, Table, World

_PROGRAM: Final = Path(__file__).with_name("FlinkQueries.java")


class FlinkError(Exception):
    """Flink refuses a query, or it fails."""


class Flink:
    """A process that runs queries in Flink's streaming mode."""

    def __enter__(self) -> Flink:
        self._process = subprocess.Popen(
            flink_command(_PROGRAM),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._results: list[Future[Mapping[str, Any]]] = []
        self._world: World | None = None
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def run(self, world: World, query: Query) -> Expected:
        """Run a keyed query. Several threads may do so.

        Raises:
            FlinkError: Flink refuses it, or it fails.
        """
        with self._lock:
            request: dict[str, Any] = {"id": len(self._results), "sql": sql(query)}
            if world is not self._world:
                request["tables"] = [flink_table(table, world.changes(table.name)) for table in world.tables]
            self._world = world
            result: Future[Mapping[str, Any]] = Future()
            self._results.append(result)
            assert self._process.stdin is not None
            print(json.dumps(request, default=str), file=self._process.stdin, flush=True)
        return _expected(result.result(), query)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            result = json.loads(line, parse_float=str)
            self._results[int(result["id"])].set_result(result)
        for future in self._results:
            if not future.done():
                future.set_exception(ChildProcessError("Flink's process has ended"))


def flink_table(table: Table, changes: Iterable[Change]) -> dict[str, Any]:
    """Return a table and its changes as ``FlinkQueries.java`` reads them."""
    time = table.time
    return {
        "name": table.name,
        "columns": [(column.name, column.type) for column in table.columns],
        "key": table.key,
        "mode": {INSERT_ONLY: "insert", UPSERT: "upsert"}.get(table.kind, "retract"),
        "watermark": None if time is None else (time, f"{time} - INTERVAL '{DELAY}' SECOND"),
        "rows": [(kind, *row) for change in changes for kind, row in _rows(table, change)],
    }


def _rows(table: Table, change: Change) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a change as Flink's formats decode its record."""
    if change.before is not None and (table.kind != UPSERT or change.after is None):
        yield "-D" if change.after is None else "-U", change.before
    if change.after is not None:
        yield "+U" if table.kind == UPSERT or change.before is not None else "+I", change.after


def _expected(result: Mapping[str, Any], query: Query) -> Expected:
    if "error" in result:
        raise FlinkError(result["error"])
    columns, content = result_columns(query), Counter[str]()
    for number, *row in result["rows"]:
        content[render(row, columns)] += number
    return Expected("Flink", without_last_rows(content), result["isInsertOnly"])
