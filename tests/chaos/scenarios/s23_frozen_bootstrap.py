"""Freeze bootstrap servers at the start and in the middle, and list some that do not respond."""

from __future__ import annotations

import time

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import black_hole, silent_server, wait_for_replicas
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running
from tests.waiting import wait_until

_CASES = ("frozen at the start", "frozen in the middle", "frozen at the start, others are unreachable")
_MAX_SECONDS = 180.0  # from the start of a driver to its first row; each server costs a setup timeout of 10 s


def scenario(config: ScenarioConfig) -> Outcome:
    """Freeze a broker (SIGSTOP) until all rows are copied, in each case."""
    rng = config.rng()
    with (
        EmbeddedKafka(3) as kafka,
        black_hole() as dropping,
        silent_server() as silent,
        running(kafka.bootstrap_servers, config) as run,
    ):
        for i in range(config.repeat):
            case = _CASES[i % len(_CASES)]
            frozen = rng.choice(kafka.nodes)
            live = [node.address for node in kafka.nodes if node is not frozen]
            unreachable = [dropping, silent] if "unreachable" in case else []
            servers = ",".join([frozen.address, *unreachable, live[0] if unreachable else ",".join(live)])
            if "start" in case:
                frozen.pause()
            run.start(bootstrap=servers)
            _send_and_wait_for_rows(run, config, i, case)
            if "middle" in case:
                frozen.pause()
                _send_and_wait_for_rows(run, config, i, f"{case}, node {frozen.id}")
            run.wait_until_caught_up()
            frozen.resume()
            run.kill()
            wait_for_replicas(kafka)
        return run.finish(config.repeat)


def _send_and_wait_for_rows(run: PipelineRun, config: ScenarioConfig, i: int, case: str) -> None:
    started, before = time.monotonic(), run.watch.seen.value
    run.send(config.rows_per_fault // 2)
    wait_until(lambda: run.watch.seen.value > before, f"rows, {case}", _MAX_SECONDS)
    config.log(f"{i + 1} {case}: {time.monotonic() - started:.1f} s to the first row")
