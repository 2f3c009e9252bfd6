"""Copy records of 10 MB and NULL keys with full producer queues: the query waits, and its memory is bounded."""

from __future__ import annotations

import re
from pathlib import Path

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running
from tests.integration.kafka import test_produce
from tests.topics import Topics

_LARGE = 10_000_000
_BOUND = 600  # megabytes; the records of a batch are ten times as large
_QUEUE = {"properties.queue.buffering.max.messages": "10"}


def scenario(config: ScenarioConfig) -> Outcome:
    """Make one in a thousand records large. Then repeat it with a producer queue of ten rows."""
    settings = {"message.max.bytes": _LARGE + 100_000, "replica.fetch.max.bytes": _LARGE + 100_000}
    with EmbeddedKafka(properties=settings) as kafka:
        direct = _copied(kafka.bootstrap_servers, config, (config.repeat + 1) // 2, {})
        queued = (
            _copied(kafka.bootstrap_servers, config, config.repeat // 2, _QUEUE) if config.repeat > 1 else Outcome()
        )
        test_produce.test_a_full_queue_waits_and_loses_nothing(Topics(kafka.bootstrap_servers))
    return direct + queued


def _copied(bootstrap: str, config: ScenarioConfig, repeat: int, writing: dict[str, str]) -> Outcome:
    """Copy rows with a driver whose sink has these options."""
    reading = {
        "properties.queued.max.messages.kbytes": "16384",
        "properties.max.partition.fetch.bytes": "1048576",
        "scan.batch.max-bytes": "8 mb",
    }
    with running(bootstrap, config.folder, reading=reading, writing=writing, largest=_LARGE) as run:
        run.start()
        pad, small = b" " * (_LARGE - 100), run.encode
        run.encode = lambda a, k: small(a, k) + (pad if a % 1000 == 499 else b"")  # type: ignore[method-assign]
        for i in range(repeat):
            run.send(config.rows_per_fault)
            run.wait_until_caught_up()
            config.log(f"{i + 1} at most {_peak(run)} MB")
        peak = _peak(run)
        assert peak < _BOUND, f"the driver took {peak} MB"
        outcome = run.finish(repeat)
    outcome.notes.append(f"at most {peak} MB")
    return outcome


def _peak(run: PipelineRun) -> int:
    """Return the peak memory of the driver in megabytes."""
    status = Path(f"/proc/{run.driver.pid}/status").read_text()
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert match is not None
    return int(match[1]) // 1024
