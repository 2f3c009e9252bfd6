"""Break the network between driver and brokers: resets, stalls, latency, low bandwidth, dropped connections."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.chaos.clusters import cluster_behind_proxy
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import running
from tests.proxy import ProxyNetwork

_MEGABIT = 125_000.0  # bytes

# name -> fault, and its duration in seconds; None: until all rows have been copied
FAULTS: dict[str, tuple[Callable[[ProxyNetwork], None], float | None]] = {
    "cut": (ProxyNetwork.cut, 3.0),
    "stalled": (ProxyNetwork.stall, 5.0),
    "50 ms": (lambda n: n.delay(0.05), None),
    "1 Mbit/s": (lambda n: n.limit(_MEGABIT), None),
    "connections dropped": (ProxyNetwork.drop_connections, None),
}


def scenario(config: ScenarioConfig) -> Outcome:
    """Apply each fault in turn, within batches."""
    rng = config.rng()
    with (
        cluster_behind_proxy(3) as (kafka, bootstrap, network),
        running(kafka.bootstrap_servers, config, driver_bootstrap=bootstrap) as run,
    ):
        run.start()
        run.send(config.rows_per_fault)
        run.wait_until_caught_up()
        for i in range(config.repeat):
            name, (fault, seconds) = list(FAULTS.items())[i % len(FAULTS)]
            run.send(config.rows_per_fault)
            time.sleep(rng.uniform(0, 1))  # at a random point of a batch
            fault(network)
            if seconds is None:
                run.wait_until_caught_up()
            else:
                time.sleep(seconds)
            network.restore()
            run.wait_until_caught_up()
            config.log(f"{i + 1} {name}")
        return run.finish(config.repeat)
