"""Run random histories: ``python -m tests.model [--only MODEL] [--count N] [--first SEED] [--processes N]``.

A failure is shrunk and reported with its seed. To repeat it: ``--only MODEL --first SEED --count 1``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time

from tests.model.campaign import MODELS, Chunk, run_chunk

_CHUNK = 1000  # seeds
_REPORTED = 25  # chunks


def main() -> int:
    """Run the histories. The exit code is 1 if the writer broke a rule."""
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[*MODELS], default=[*MODELS])
    parser.add_argument("--count", type=int, default=1_000_000, help="histories per model (default: 1,000,000)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first history")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    return int(sum(_failures(model, arguments) for model in arguments.only) > 0)


def _failures(model: str, arguments: argparse.Namespace) -> int:
    began, end = time.monotonic(), arguments.first + arguments.count
    chunks = [Chunk(model, range(seed, min(seed + _CHUNK, end))) for seed in range(arguments.first, end, _CHUNK)]
    failures = 0
    with multiprocessing.get_context("spawn").Pool(min(arguments.processes, len(chunks))) as pool:
        for done, failure in enumerate(pool.imap_unordered(run_chunk, chunks), 1):
            if failure is not None:
                failures += 1
                print(failure, flush=True)
            if done % _REPORTED == 0 or done == len(chunks):
                count = min(done * _CHUNK, arguments.count)
                seconds = time.monotonic() - began
                print(f"{model}: {count:,} histories in {seconds:.0f} s, {failures} violations", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(main())
