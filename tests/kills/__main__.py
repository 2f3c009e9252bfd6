"""``python -m tests.kills --kills 200``: a campaign on a broker of its own, or on a given one."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys

from kafka_sql.embedded import EmbeddedKafka
from tests.kills.campaign import campaign
from tests.kills.oracle import right


def main() -> int:
    """1 where a reader saw something wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--naming", default="INCREMENTING", choices=["INCREMENTING", "POOLING"])
    parser.add_argument("--bootstrap", help="host:port of a broker; by default one is started")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        bootstrap = arguments.bootstrap or stack.enter_context(EmbeddedKafka()).bootstrap_servers
        found = campaign(
            bootstrap, arguments.kills, arguments.seed, arguments.naming, lambda line: print(line, file=sys.stderr)
        )
    print(json.dumps(found))
    return 0 if right(found["concurrent"]) and right(found["final"]) else 1


if __name__ == "__main__":
    sys.exit(main())
