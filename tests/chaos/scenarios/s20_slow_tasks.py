"""Run tasks that pause for minutes. Meanwhile, brokers restart, are killed, or close idle connections."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import roll, wait_for_replicas
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.pipeline import PAUSES
from tests.chaos.run import PipelineRun, running
from tests.waiting import wait_until

_PIPELINES = 4  # at the same time
_PAUSE = 150.0  # seconds; longer than delivery.timeout.ms
_IDLE = {"connections.max.idle.ms": 60_000}  # shorter than the pause
_SOURCE_OPTIONS = {
    "scan.max-offsets-per-trigger": "1000000",  # one batch per round
    # several requests per split
    "scan.batch.max-rows": "50",
    "properties.max.partition.fetch.bytes": "500",
}


def _kill(kafka: EmbeddedKafka, i: int) -> None:
    node = kafka.nodes[i % len(kafka.nodes)]
    node.kill()
    node.restart()
    wait_for_replicas(kafka)


# what happens in a pause
_FAULTS: dict[str, Callable[[EmbeddedKafka, int], None]] = {
    "rolling restart": lambda kafka, _: roll(kafka),
    "idle connections closed": lambda *_: None,
    "broker killed": _kill,
}


def scenario(config: ScenarioConfig) -> Outcome:
    """A repetition is a pause of a pipeline. In each round, every pipeline copies a batch with several pauses."""
    rounds = max(1, config.repeat // (_PIPELINES * PAUSES))
    rows = config.rows // (_PIPELINES * rounds)
    with EmbeddedKafka(3, properties=_IDLE) as kafka, contextlib.ExitStack() as stack:
        runs = [
            stack.enter_context(running(kafka.bootstrap_servers, config, source_options=_SOURCE_OPTIONS, pause=_PAUSE))
            for _ in range(_PIPELINES)
        ]
        for run in runs:
            _send(run, rows)
            run.start()
        for pause in range(rounds * PAUSES):
            wait_until(lambda n=pause: all(_pauses(run) > n for run in runs), f"pause {pause + 1}", 3 * _PAUSE)
            name, fault = list(_FAULTS.items())[pause % len(_FAULTS)]
            fault(kafka, pause)
            config.log(f"{pause + 1} {name}")
            if pause % PAUSES == PAUSES - 1 and pause + 1 < rounds * PAUSES:
                for run in runs:
                    _send(run, rows)  # read by the next batch
        for run in runs:
            wait_until(lambda r=run: _is_done(r, rounds), "the last batch", 3 * _PAUSE)
        time.sleep(1)
        outcome = Outcome()
        for run in runs:
            assert _pauses(run) == rounds * PAUSES, f"{_pauses(run)} pauses: a task failed and was repeated"
            outcome += run.finish(rounds * PAUSES)
    return outcome


def _send(run: PipelineRun, rows: int) -> None:
    run.send(rows)
    run.flush()


def _pauses(run: PipelineRun) -> int:
    with contextlib.suppress(FileNotFoundError):
        return len((run.query.folder / "pauses").read_text().splitlines())
    return 0


def _is_done(run: PipelineRun, batches: int) -> bool:
    assert run.driver.is_alive(), run.error()
    return len(list((run.query.folder / "done").iterdir())) == batches
