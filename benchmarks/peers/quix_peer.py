"""Process requests with Quix Streams: ``python -m benchmarks.peers.quix_peer``.

Quix Streams handles one record at a time in Python. As its documentation recommends, several processes of the same
consumer group share the partitions. The producer waits up to 100 ms for a batch of up to 1 MB.
"""

from __future__ import annotations

import tempfile
import threading
import time
import uuid
from functools import reduce
from typing import Any, Final

from quixstreams import Application

from benchmarks.peers.serving import serve
from benchmarks.peers.totals import Totals
from benchmarks.peers.workers import run_workers

_PROCESSES: Final = 2
_PRODUCER: Final = {"linger.ms": 100, "batch.size": 1_000_000}


class QuixHandler:
    """Processes requests; each public method is one."""

    def read(self, bootstrap: str, topic: str, records: int, with_extremes: bool) -> dict[str, Any]:
        """Aggregate the records of a topic of JSON rows."""
        arguments = {"bootstrap": bootstrap, "topic": topic, "records": records, "with_extremes": with_extremes}
        seconds, totals = run_workers(_read, {**arguments, "group": uuid.uuid4().hex}, _PROCESSES)
        return {"seconds": seconds, "rows": [reduce(Totals.merge, totals).row()]}

    def stream(self, bootstrap: str, source: str, target: str, records: int, minimum: float | None) -> dict[str, Any]:
        """Copy JSON rows to another topic, at least once: all, or those with a price above a minimum."""
        arguments = {"bootstrap": bootstrap, "source": source, "target": target, "minimum": minimum}
        seconds, _ = run_workers(_stream, {**arguments, "records": records, "group": uuid.uuid4().hex}, _PROCESSES)
        return {"seconds": seconds}


def _read(worker: int, done: Any, bootstrap: str, topic: str, records: int, group: str, with_extremes: bool) -> Totals:
    totals, app = Totals(with_extremes), _application(worker, done, bootstrap, group)
    rows = app.dataframe(app.topic(topic, value_deserializer="json"))
    rows.update(lambda row: totals.add((row,)))
    _run(app, done, records)
    return totals


def _stream(
    worker: int, done: Any, bootstrap: str, source: str, target: str, minimum: float | None, records: int, group: str
) -> None:
    app = _application(worker, done, bootstrap, group)
    rows = app.dataframe(app.topic(source, value_deserializer="json"))
    if minimum is not None:
        rows = rows[rows["price"] > minimum]
    rows.to_topic(app.topic(target, value_serializer="json"))
    _run(app, done, records)


def _application(worker: int, done: Any, bootstrap: str, group: str) -> Application:
    def count(topic: str, partition: int, offset: int) -> None:
        done[worker] += 1

    return Application(
        broker_address=bootstrap,
        consumer_group=group,
        auto_offset_reset="earliest",
        processing_guarantee="at-least-once",
        producer_extra_config=_PRODUCER,
        state_dir=tempfile.gettempdir(),
        on_message_processed=count,
        loglevel="WARNING",
    )


def _run(app: Application, done: Any, records: int) -> None:
    """Run until all workers together have processed the records. The end writes and commits what is open."""

    def stop() -> None:
        while sum(done) < records:
            time.sleep(0.05)
        app.stop()

    threading.Thread(target=stop, daemon=True).start()
    app.run()


if __name__ == "__main__":
    serve(QuixHandler)
