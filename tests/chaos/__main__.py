"""Run the scenarios one by one and print a table of what readers saw: ``python -m tests.chaos``.

The exit code is 1 if a scenario fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

from kafka_sql.options.connector import DIRECT, LIBRDKAFKA
from tests.chaos.outcome import CODECS, Line, ScenarioConfig, table
from tests.chaos.registry import SCENARIOS, Scenario

_SAMPLE_ROWS = 500  # per fault


def main() -> int:
    """Print the table to stdout and the progress to stderr."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="+", help="numbers of scenarios", metavar="N")
    parser.add_argument("--repeat", type=int, help="number of faults per scenario")
    parser.add_argument("--rows", type=int, help="number of rows per scenario")
    parser.add_argument("--client", choices=(DIRECT, LIBRDKAFKA), default=DIRECT, help="of sources and sinks")
    parser.add_argument("--codec", choices=CODECS, help="of both topics; by default, seed and scenario choose it")
    parser.add_argument("--sample", action="store_true", help="only a few faults per scenario")
    arguments = parser.parse_args()
    chosen = [s for s in SCENARIOS if not arguments.only or s.number in arguments.only]
    if arguments.sample and not arguments.repeat:
        chosen = [s for s in chosen if s.sample]
    lines = [attempt(scenario, arguments) for scenario in chosen]
    print(table(lines))
    return 0 if all(line.verdict.startswith("correct") for line in lines) else 1


def attempt(scenario: Scenario, arguments: argparse.Namespace) -> Line:
    """Run a scenario and return its line of the table."""
    started = time.monotonic()
    name = f"{scenario.number} {scenario.title}"

    def log(line: str) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {scenario.number:2} {line}", file=sys.stderr, flush=True)

    client: str = arguments.client
    codec: str = scenario.codec or arguments.codec or CODECS[(arguments.seed + scenario.number) % len(CODECS)]
    log(f"{scenario.title}: {client}, {codec}")
    repeat = arguments.repeat or (scenario.sample if arguments.sample else scenario.repeat)
    rows = arguments.rows or (_SAMPLE_ROWS * repeat if arguments.sample else scenario.rows)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        try:
            outcome = scenario.run(
                ScenarioConfig(repeat, rows, arguments.seed, Path(folder), client, codec, not arguments.sample, log)
            )
        except Exception as e:  # noqa: BLE001  # run the other scenarios in any case
            traceback.print_exc()
            lines = str(e).splitlines() or [type(e).__name__]
            return Line(name, client, codec, None, f"FAILED: {lines[0][:200]}")
    log(f"{outcome.repetitions} faults, {outcome.rows} rows")
    notes = "".join(f"; {note}" for note in dict.fromkeys(outcome.notes))
    return Line(name, client, codec, outcome, ("correct" if outcome.is_correct else "WRONG") + notes)


if __name__ == "__main__":
    sys.exit(main())
