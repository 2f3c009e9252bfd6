"""Restart all brokers one after another, as an upgrade does, several times while rows are written and read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import roll
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running

_INTERVAL = 0.05  # seconds between rows that are sent
_ROWS_PER_SECOND = 1_000


def scenario(config: ScenarioConfig) -> Outcome:
    """A repetition is a restart of one broker. The number of rows depends on how long the restarts take."""
    with EmbeddedKafka(3) as kafka, running(kafka.bootstrap_servers, config) as run:
        run.start()
        with _load(run):
            rounds = -(-config.repeat // len(kafka.nodes))
            for i in range(rounds):
                roll(kafka)
                config.log(f"{i + 1} all brokers restarted, {run.sent} rows sent, {run.watch.seen.value} read")
        run.wait_until_caught_up()
        return run.finish(rounds * len(kafka.nodes))


@contextmanager
def _load(run: PipelineRun) -> Iterator[None]:
    """Send rows at a constant rate until the block ends."""
    stopped = threading.Event()

    def send() -> None:
        started, count = time.monotonic(), 0
        while not stopped.wait(_INTERVAL):
            due = int((time.monotonic() - started) * _ROWS_PER_SECOND)
            run.send(due - count)
            count = due

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
