"""``python -m tests.kills --kills 200``: a campaign on a broker of its own, or on a given one."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys

from kafka_sql.embedded import EmbeddedKafka
from tests.kills.campaign import campaign
from tests.kills.oracle import is_correct


def main() -> int:
    """1 where a reader saw something wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--naming", default="INCREMENTING", choices=["INCREMENTING", "POOLING"])
    parser.add_argument("--bootstrap", help="host:port of a broker; by default one is started, and killed, too")
    parser.add_argument("--nodes", type=int, default=1, choices=[1, 3], help="of the cluster that is started")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        own = None if arguments.bootstrap else stack.enter_context(EmbeddedKafka(arguments.nodes))
        bootstrap = arguments.bootstrap if own is None else own.bootstrap_servers
        found = campaign(
            bootstrap,
            arguments.kills,
            arguments.seed,
            arguments.naming,
            lambda line: print(line, file=sys.stderr),
            own.nodes if own is not None else (),
        )
    print(json.dumps(found))
    return 0 if is_correct(found["concurrent"]) and is_correct(found["final"]) else 1


if __name__ == "__main__":
    sys.exit(main())
