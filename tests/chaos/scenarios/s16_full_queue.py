"""Copy records of 10 MB and NULL keys with full producer queues: the query waits, and its memory is bounded."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.options.connector import LIBRDKAFKA
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running
from tests.integration.kafka import test_produce
from tests.topics import Topics

_LARGE = 10_000_000
_MAX_MEMORY = 600  # megabytes; the records of a batch are ten times as large
# A producer queue of ten rows. The direct client has no such queue.
_QUEUE = {"sink.client": LIBRDKAFKA, "properties.queue.buffering.max.messages": "10"}


def scenario(config: ScenarioConfig) -> Outcome:
    """Copy with compression, then uncompressed with a producer queue of ten rows, then only uncompressed.

    One record in a thousand is large. The cases share the repetitions.
    """
    cases: tuple[tuple[str, dict[str, str]], ...] = ((config.codec, {}), ("none", _QUEUE), ("none", {}))
    outcome = Outcome()
    settings = {"message.max.bytes": _LARGE + 100_000, "replica.fetch.max.bytes": _LARGE + 100_000}
    with EmbeddedKafka(properties=settings) as kafka:
        for i, (codec, sink_options) in enumerate(cases[: config.repeat]):
            repeat = (config.repeat - i + len(cases) - 1) // len(cases)
            outcome += _copy_rows(kafka.bootstrap_servers, replace(config, codec=codec), repeat, sink_options)
        test_produce.test_a_full_queue_waits_and_loses_nothing(Topics(kafka.bootstrap_servers))
    return outcome


def _copy_rows(bootstrap: str, config: ScenarioConfig, repeat: int, sink_options: dict[str, str]) -> Outcome:
    """Copy rows with a driver whose sink has these options."""
    source_options = {
        "properties.queued.max.messages.kbytes": "16384",
        "properties.max.partition.fetch.bytes": "1048576",
        "scan.batch.max-bytes": "8 mb",
    }
    with running(
        bootstrap, config, source_options=source_options, sink_options=sink_options, max_record_size=_LARGE
    ) as run:
        run.start()
        pad, small = b" " * (_LARGE - 100), run.encode
        run.encode = lambda a, key: small(a, key) + (pad if a % 1000 == 499 else b"")  # type: ignore[method-assign]
        for i in range(repeat):
            run.send(config.rows_per_fault)
            run.wait_until_caught_up()
            config.log(f"{i + 1} at most {_peak_memory(run)} MB")
        peak = _peak_memory(run)
        assert peak < _MAX_MEMORY, f"the driver took {peak} MB"
        outcome = run.finish(repeat)
    outcome.notes.append(f"at most {peak} MB")
    return outcome


def _peak_memory(run: PipelineRun) -> int:
    """Return the peak memory of the driver in megabytes."""
    status = Path(f"/proc/{run.driver.pid}/status").read_text()
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert match is not None
    return int(match[1]) // 1024
