"""Run random histories: ``python -m tests.model [--count N] [--first SEED] [--processes N]``.

A failure is shrunk and reported with its seed. To repeat it: ``--first SEED --count 1``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time

from tests.model.history import find_violation

_CHUNK = 1000  # seeds


def main() -> int:
    """Run the histories. The exit code is 1 if the writer broke a rule."""
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="histories (default: 1,000,000)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first history")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    began, end = time.monotonic(), arguments.first + arguments.count
    chunks = [range(seed, min(seed + _CHUNK, end)) for seed in range(arguments.first, end, _CHUNK)]
    failures = done = 0
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        for count, failure in pool.imap_unordered(_run, chunks):
            done += count
            if failure is not None:
                failures += 1
                print(failure, flush=True)
            elif done % 50_000 < _CHUNK:
                print(f"{done:,} histories in {time.monotonic() - began:.0f} s", flush=True)
    print(f"{done:,} histories in {time.monotonic() - began:.0f} s: {failures} chunks with violations")
    return int(failures > 0)


def _run(seeds: range) -> tuple[int, str | None]:
    found = find_violation(seeds)
    return len(seeds), None if found is None else f"{found[0]}\n=> {found[1]}"


if __name__ == "__main__":
    sys.exit(main())
