"""Process requests with Pathway: ``python -m benchmarks.peers.pathway_peer``.

Pathway's engine is written in Rust. It reads, decodes, computes and writes in threads of one process, one per core, as
``pathway spawn --threads 2`` starts them. Expressions are Pathway's own, not Python functions.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from typing import Any, Final

import pathway as pw

from benchmarks.peers.serving import serve
from benchmarks.peers.totals import STRINGS
from benchmarks.peers.workers import run_workers

_THREADS: Final = 2


class PathwayHandler:
    """Processes requests; each public method is one."""

    def read(self, bootstrap: str, topic: str, records: int, with_extremes: bool) -> dict[str, Any]:
        """Aggregate the records of a topic of JSON rows."""
        seconds, (row,) = run_workers(
            _read, {"bootstrap": bootstrap, "topic": topic, "with_extremes": with_extremes}, 1
        )
        return {"seconds": seconds, "rows": [row]}

    def stream(self, bootstrap: str, source: str, target: str, records: int, minimum: float | None) -> dict[str, Any]:
        """Copy JSON rows to another topic, at least once: all, or those with a price above a minimum."""
        arguments = {"bootstrap": bootstrap, "source": source, "target": target, "minimum": minimum}
        with tempfile.TemporaryDirectory() as checkpoints:
            seconds, _ = run_workers(_stream, {**arguments, "checkpoints": checkpoints}, 1)
        return {"seconds": seconds}


def _read(worker: int, done: Any, bootstrap: str, topic: str, with_extremes: bool) -> list[str]:
    rows = _source(bootstrap, topic)
    if with_extremes:
        extremes = [(f"{kind}_{name}", name, kind) for name in STRINGS for kind in ("min", "max")]
        totals = rows.reduce(**{key: getattr(pw.reducers, kind)(rows[name]) for key, name, kind in extremes})
    else:
        reduce = pw.reducers
        totals = rows.reduce(
            count=reduce.count(),
            order_ids=reduce.sum(rows.order_id),
            user_ids=reduce.sum(rows.user_id),
            cents=reduce.sum(pw.cast(int, rows.price * 100)),
            quantities=reduce.sum(rows.quantity),
            paid=reduce.sum(pw.cast(int, rows.paid)),
            ts=reduce.max(rows.ts),
            **{name: reduce.sum(rows[name].str.len()) for name in STRINGS},
        )
    last: dict[str, Any] = {}

    def keep(key: object, row: dict[str, Any], time: int, is_addition: bool) -> None:
        if is_addition:
            last.update(row)

    pw.io.subscribe(totals, on_change=keep)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return [str(value) for value in last.values()]


def _stream(
    worker: int, done: Any, bootstrap: str, source: str, target: str, minimum: float | None, checkpoints: str
) -> None:
    rows = _source(bootstrap, source)
    if minimum is not None:
        rows = rows.filter(rows.price > minimum)
    pw.io.kafka.write(rows, {"bootstrap.servers": bootstrap}, topic_name=target, format="json")
    config = pw.persistence.Config(pw.persistence.Backend.filesystem(checkpoints))
    pw.run(monitoring_level=pw.MonitoringLevel.NONE, persistence_config=config)


def _source(bootstrap: str, topic: str) -> Any:
    types = {"order_id": int, "user_id": int, "product": str, "price": float, "quantity": int, "status": str}
    schema = pw.schema_from_types(**types, country=str, paid=bool, ts=int)
    settings = {"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"}
    return pw.io.kafka.read(settings, topic=topic, schema=schema, format="json", mode="static", name="source")


if __name__ == "__main__":
    os.environ |= {"PATHWAY_THREADS": str(_THREADS), "PATHWAY_PROCESSES": "1"}
    serve(PathwayHandler)
