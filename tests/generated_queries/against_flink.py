"""Run generated queries in Flink and here: ``python -m tests.generated_queries.against_flink --help``."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from tests.generated_queries.__main__ import print_shrunk, spark_and_topics
from tests.generated_queries.flink import Flink, FlinkError
from tests.generated_queries.generator import generate_query
from tests.generated_queries.queries import Query, sql
from tests.generated_queries.shrink import shrink
from tests.generated_queries.streams import DIFFERENT, EQUAL, FAILED, REFUSED, Outcome, run_query, write_world
from tests.generated_queries.tables import World, generate_world
from tests.topics import Topics

REFUSED_BY_FLINK: Final = "refused by Flink"
UNSTABLE: Final = "not deterministic in Flink"  # it depends on which table is read first
_QUERIES: Final = 1000  # seeds per world, so that each world has other queries
_NO_UPDATES: Final = "doesn't support consuming update"
_RESTARTS: Final = (0, 1)  # few, because those of a batch against a stream are the test of them
_RUNS: Final = 3  # of a query that is different, in Flink
_NAMES: Final = re.compile(r"'?\b(generated_\d+\.\w+|[tc]\d+|[a-d]_\w+|q\d+|#\d+)\b'?")


@dataclass(frozen=True)
class Case:
    """A generated query over a generated world."""

    world_seed: int
    seed: int
    world: World
    query: Query

    def __str__(self) -> str:
        """Return the options that run it alone."""
        return f"--first {self.world_seed} --count 1 --only {self.seed}"


@dataclass
class Comparison:
    """Runs queries in both engines."""

    flink: Flink
    spark: Any
    topics: Topics

    def compare(self, world: World, names: dict[str, str], query: Query, seed: int) -> Outcome:
        """Run a query in both engines, and return its outcome.

        Args:
            world: the tables and their changes.
            names: topics by table.
            query: the query.
            seed: of the cuts and the restarts.
        """
        try:
            expected = self.flink.run(world, query)
        except FlinkError as e:
            return Outcome(REFUSED_BY_FLINK, str(e))
        outcome = run_query(
            self.spark, self.topics, world, names, query, seed=seed, expected=expected, restarts=_RESTARTS
        )
        if outcome.outcome == REFUSED and _NO_UPDATES in outcome.reason:
            expected = replace(expected, is_insert_only=False)
            outcome = run_query(
                self.spark, self.topics, world, names, query, seed=seed, expected=expected, restarts=_RESTARTS
            )
        if outcome.outcome == DIFFERENT:
            again = [self.flink.run(world, query).content for _ in range(_RUNS)]
            if any(content != expected.content for content in again):
                return Outcome(UNSTABLE, outcome.reason)
        return outcome

    def run(self, cases: Iterable[Case], at_once: int) -> Iterator[tuple[Case, Outcome]]:
        """Run queries, several at once, and yield their outcomes as they end. Cases of a world follow each other."""
        for _, same in groupby(cases, lambda case: case.world_seed):
            of_world = list(same)
            names = write_world(self.topics, of_world[0].world)
            with ThreadPoolExecutor(at_once) as threads:
                runs = {threads.submit(self.compare, c.world, names, c.query, c.seed): c for c in of_world}
                yield from ((runs[run], run.result()) for run in as_completed(runs))

    def shrink(self, world: World, query: Query, outcome: Outcome, trials: int) -> tuple[World, Query]:
        """Return a smaller world and query that are different or fail in the same way."""
        if outcome.histories:
            world = world.of_histories(outcome.histories[:1])

        def fails(world: World, query: Query) -> bool:
            names = write_world(self.topics, world)
            return any(self.compare(world, names, query, seed).outcome == outcome.outcome for seed in (0, 1))

        return shrink(world, query, fails, trials)


def main() -> int:
    """Run worlds with some queries each. The exit code is 1 if there is a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.generated_queries.against_flink", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="seed of the first world")
    parser.add_argument("--count", type=int, default=15, help="number of worlds")
    parser.add_argument("--queries", type=int, default=10, help="per world")
    parser.add_argument("--only", type=int, nargs="+", help="seeds of the only queries to run")
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=3, help="queries that run at the same time")
    parser.add_argument("--trials", type=int, default=40, help="of shrinking a fault; 0 for none")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no further world after this time")
    arguments = parser.parse_args()
    with spark_and_topics() as (spark, topics), Flink() as flink:
        return _report(Comparison(flink, spark, topics), arguments)


def _cases(arguments: argparse.Namespace) -> Iterator[Case]:
    started = time.monotonic()
    for world_seed in range(arguments.first, arguments.first + arguments.count):
        if time.monotonic() - started > arguments.minutes * 60:
            break
        world = generate_world(world_seed, arguments.histories)
        first = world_seed * _QUERIES
        for seed in range(first, first + arguments.queries) if arguments.only is None else arguments.only:
            yield Case(world_seed, seed, world, generate_query(world.tables, seed))


def _report(comparison: Comparison, arguments: argparse.Namespace) -> int:
    """Print the outcomes as they come, then their numbers. Return 1 if there is a fault."""
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for case, outcome in comparison.run(_cases(arguments), arguments.at_once):
        outcomes[outcome.outcome] += 1
        print(f"{case}: {outcome.outcome}: {outcome.reason[:1500]}: {sql(case.query)}", flush=True)
        if outcome.outcome in (REFUSED, REFUSED_BY_FLINK):
            reasons[f"{outcome.outcome}: {_NAMES.sub('_', outcome.reason)[:120]}"] += 1
        if outcome.outcome in (DIFFERENT, FAILED) and arguments.trials:
            print_shrunk(*comparison.shrink(case.world, case.query, outcome, arguments.trials))
    pairs = (outcomes[EQUAL] + outcomes[DIFFERENT] + outcomes[FAILED]) * arguments.histories
    print(f"{pairs} pairs of a query and a history; queries: {dict(outcomes)}")
    print(*(f"{number} {reason}" for reason, number in reasons.most_common()), sep="\n")
    return int(outcomes[DIFFERENT] + outcomes[FAILED] > 0)


if __name__ == "__main__":
    sys.exit(main())
