"""Run fuzz targets: ``python -m tests.fuzz [--only NAME ...] [--count N] [--seed N] [--first N] [--seconds N]``.

Failures are reported with seed and number. To repeat one: ``--only NAME --seed SEED --first NUMBER --count 1``.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz import harness, options
from tests.fuzz.targets import DECODERS, INPUT_TARGETS


def main() -> int:
    """Run the targets. The exit code is 1 if an input failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[*INPUT_TARGETS, *DECODERS], default=[*INPUT_TARGETS, *DECODERS])
    parser.add_argument("--count", type=int, default=1_000_000, help="inputs per target (default: 1,000,000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time limit per target, except decoders")
    arguments = parser.parse_args()
    with options.suppress_warnings():
        return int(sum(_failures(name, arguments) for name in arguments.only) > 0)


def _failures(name: str, arguments: argparse.Namespace) -> int:
    if name in INPUT_TARGETS:
        result = harness.run(
            name, INPUT_TARGETS[name](), arguments.count, arguments.seed, arguments.first, arguments.seconds
        )
        harness.print_result(name, arguments.seed, result)
        return result.failed
    start = time.monotonic()
    rows = DECODERS[name](arguments.count, arguments.seed)
    print(f"{name:22} {arguments.count:>9,} in {time.monotonic() - start:>6.0f} s: rows, errors {rows}", flush=True)
    return 0


sys.exit(main())
