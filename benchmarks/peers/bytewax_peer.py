"""Process requests with Bytewax: ``python -m benchmarks.peers.bytewax_peer``.

Bytewax runs Python functions over batches of messages. Its documentation recommends processes in place of threads for
work in Python, and ``flat_map_batch`` in place of an operator per message. JSON is read and written with orjson.
"""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterable
from functools import reduce
from pathlib import Path
from typing import Any, Final

import bytewax.operators as op
import orjson
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource, KafkaSourceMessage
from bytewax.dataflow import Dataflow
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import cluster_main

from benchmarks.peers.serving import serve
from benchmarks.peers.totals import Totals
from benchmarks.peers.workers import run_workers

_PROCESSES: Final = 2
_BATCH: Final = 10_000  # messages; the sink waits for the broker after each batch

Messages = list[KafkaSourceMessage[bytes | None, bytes | None]]


class BytewaxHandler:
    """Processes requests; each public method is one."""

    def read(self, bootstrap: str, topic: str, records: int, with_extremes: bool) -> dict[str, Any]:
        """Aggregate the records of a topic of JSON rows."""
        arguments = {"bootstrap": bootstrap, "topic": topic, "with_extremes": with_extremes}
        seconds, totals = run_workers(_read, {**arguments, "addresses": _addresses()}, _PROCESSES)
        return {"seconds": seconds, "rows": [reduce(Totals.merge, totals).row()]}

    def stream(self, bootstrap: str, source: str, target: str, records: int, minimum: float | None) -> dict[str, Any]:
        """Copy JSON rows to another topic, at least once: all, or those with a price above a minimum."""
        arguments = {"bootstrap": bootstrap, "source": source, "target": target, "minimum": minimum}
        with tempfile.TemporaryDirectory() as recovery:
            init_db_dir(Path(recovery), _PROCESSES)
            arguments |= {"recovery": recovery, "addresses": _addresses()}
            seconds, _ = run_workers(_stream, arguments, _PROCESSES)
        return {"seconds": seconds}


def _addresses() -> list[str]:
    """Return an unused address per process."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(_PROCESSES)]
    addresses = [f"127.0.0.1:{server.getsockname()[1]}" for server in sockets]
    for server in sockets:
        server.close()
    return addresses


class _TotalsSink(DynamicSink[dict[str, Any]], StatelessSinkPartition[dict[str, Any]]):
    """Adds rows to totals."""

    def __init__(self, totals: Totals) -> None:
        self._totals = totals

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _TotalsSink:
        return self

    def write_batch(self, items: list[dict[str, Any]]) -> None:
        self._totals.add(items)


def _read(worker: int, done: Any, bootstrap: str, topic: str, with_extremes: bool, addresses: list[str]) -> Totals:
    totals, flow = Totals(with_extremes), Dataflow("read")
    messages = op.input("input", flow, _source(bootstrap, topic))
    rows = op.flat_map_batch("decode", messages, _decode)
    op.output("output", rows, _TotalsSink(totals))
    cluster_main(flow, addresses, worker)
    return totals


def _stream(
    worker: int,
    done: Any,
    bootstrap: str,
    source: str,
    target: str,
    minimum: float | None,
    recovery: str,
    addresses: list[str],
) -> None:
    def copy(messages: Messages) -> Iterable[KafkaSinkMessage[bytes | None, bytes | None]]:
        rows: Iterable[dict[str, Any]] = _decode(messages)
        if minimum is not None:
            rows = [row for row in rows if row["price"] > minimum]
        return [KafkaSinkMessage(None, orjson.dumps(row)) for row in rows]

    flow = Dataflow("stream")
    output = op.flat_map_batch("copy", op.input("input", flow, _source(bootstrap, source)), copy)
    op.output("output", output, KafkaSink([bootstrap], target))
    cluster_main(flow, addresses, worker, recovery_config=RecoveryConfig(recovery))


def _source(bootstrap: str, topic: str) -> KafkaSource:
    return KafkaSource([bootstrap], [topic], tail=False, batch_size=_BATCH)


def _decode(messages: Messages) -> list[dict[str, Any]]:
    loads = orjson.loads
    return [loads(message.value) for message in messages]


if __name__ == "__main__":
    serve(BytewaxHandler)
