"""Run a campaign on a new broker or an existing one: ``python -m tests.kills --kills 200``."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys

from kafka_sql.embedded import EmbeddedKafka
from tests.kills.campaign import run_campaign
from tests.kills.oracle import is_correct


def main() -> int:
    """Run a campaign. The exit code is 1 if a reader saw wrong rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--naming", default="INCREMENTING", choices=["INCREMENTING", "POOLING"])
    parser.add_argument("--bootstrap", help="host:port of a broker; by default a broker is started, and also killed")
    parser.add_argument("--nodes", type=int, default=1, choices=[1, 3], help="number of brokers to start")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        started = None if arguments.bootstrap else stack.enter_context(EmbeddedKafka(arguments.nodes))
        bootstrap = arguments.bootstrap if started is None else started.bootstrap_servers
        result = run_campaign(
            bootstrap,
            arguments.kills,
            arguments.seed,
            arguments.naming,
            lambda line: print(line, file=sys.stderr),
            started.nodes if started is not None else (),
        )
    print(json.dumps(result))
    return 0 if is_correct(result["concurrent"]) and is_correct(result["final"]) else 1


if __name__ == "__main__":
    sys.exit(main())
