"""``python -m tests.chaos``: the scenarios one by one, and a table of what readers saw; 1 where one fails."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.chaos.outcome import Outcome, ScenarioConfig, table
from tests.chaos.registry import SCENARIOS, Scenario

_SAMPLE_ROWS = 500  # for each fault


def main() -> int:
    """The table on stdout, what happens meanwhile on stderr."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="+", help="numbers of scenarios", metavar="N")
    parser.add_argument("--repeat", type=int, help="faults of each scenario")
    parser.add_argument("--rows", type=int, help="rows of each scenario, in all")
    parser.add_argument("--sample", action="store_true", help="a few faults of each")
    arguments = parser.parse_args()
    chosen = [s for s in SCENARIOS if not arguments.only or s.number in arguments.only]
    if arguments.sample and not arguments.repeat:
        chosen = [s for s in chosen if s.sample]
    lines = [attempt(one, arguments) for one in chosen]
    print(table(lines))
    return 0 if all(verdict.startswith("right") for _, _, verdict in lines) else 1


def attempt(one: Scenario, arguments: argparse.Namespace) -> tuple[str, Outcome | None, str]:
    """A line of the table."""
    began = time.monotonic()
    name = f"{one.number} {one.title}"

    def log(line: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {one.number:2} {line}", file=sys.stderr, flush=True)

    log(one.title)
    repeat = arguments.repeat or (one.sample if arguments.sample else one.repeat)
    rows = arguments.rows or (_SAMPLE_ROWS * repeat if arguments.sample else one.rows)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        try:
            found = one.run(ScenarioConfig(repeat, rows, arguments.seed, Path(folder), not arguments.sample, log))
        except Exception as e:  # noqa: BLE001  # the others are to be done in any case
            traceback.print_exc()
            lines = str(e).splitlines() or [type(e).__name__]
            return name, None, f"FAILED: {lines[0][:200]}"
    log(f"{found.repetitions} times, {found.rows} rows")
    words = "".join(f"; {note}" for note in dict.fromkeys(found.notes))
    return name, found, ("right" if found.is_correct else "WRONG") + words


if __name__ == "__main__":
    sys.exit(main())
