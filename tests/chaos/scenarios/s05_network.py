"""The network between the driver and three brokers is cut, held, slow, narrow, and forgets connections."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.chaos.clusters import cluster_behind_proxy
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import running
from tests.proxy import Network

_MEGABIT = 125_000.0  # bytes

# how it is at fault, and for how many seconds; None: until all rows have come through
FAULTS: dict[str, tuple[Callable[[Network], None], float | None]] = {
    "cut": (Network.cut, 3.0),
    "held": (Network.hold, 5.0),
    "50 ms": (lambda n: n.delay(0.05), None),
    "1 Mbit/s": (lambda n: n.limit(_MEGABIT), None),
    "forgotten": (Network.forget, None),
}


def scenario(asked: ScenarioConfig) -> Outcome:
    """Each of them in turn, in the middle of batches."""
    chance = asked.rng()
    with (
        cluster_behind_proxy(3) as (kafka, far, network),
        running(kafka.bootstrap_servers, asked.folder, through=far) as run,
    ):
        run.start()
        run.send(asked.rows_per_fault)
        run.wait_until_caught_up()
        for i in range(asked.repeat):
            name, (fault, seconds) = list(FAULTS.items())[i % len(FAULTS)]
            run.send(asked.rows_per_fault)
            time.sleep(chance.uniform(0, 1))  # into a batch, at any place of it
            fault(network)
            if seconds is None:
                run.wait_until_caught_up()
            else:
                time.sleep(seconds)
            network.mend()
            run.wait_until_caught_up()
            asked.log(f"{i + 1} {name}")
        return run.finish(asked.repeat)
