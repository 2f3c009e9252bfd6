"""Run generated queries, batch against stream: ``python -m tests.generated_queries --help``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

import kafka_sql
from kafka_sql.runtime.worker_main import installed_command
from tests.broker import choice_from_environment, start_broker
from tests.generated_queries.generator import generate_query
from tests.generated_queries.queries import Query, sql
from tests.generated_queries.streams import DIFFERENT, FAILED, REFUSED, run_queries, shrink_query
from tests.generated_queries.tables import World, generate_world
from tests.java_names import keep_java_names
from tests.topics import Topics
from tools.build_jar import build_jar


def main() -> int:
    """Run worlds with some queries each. The exit code is the number of faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.generated_queries", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="seed of the first world")
    parser.add_argument("--count", type=int, default=10, help="number of worlds")
    parser.add_argument("--queries", type=int, default=10, help="per world")
    parser.add_argument("--only", type=int, help="seed of the only query to run")
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=3, help="queries that run at the same time")
    parser.add_argument("--trials", type=int, default=40, help="of shrinking a fault; 0 for none")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no further world after this time")
    arguments = parser.parse_args()
    with spark_and_topics() as (spark, topics):
        return _run_worlds(spark, topics, arguments)


@contextmanager
def spark_and_topics() -> Iterator[tuple[SparkSession, Topics]]:
    """Start a broker and Spark, and stop them at the end."""
    build_jar()
    keep_java_names()
    os.environ["PYSPARK_PYTHON"] = installed_command() or sys.executable
    with start_broker(choice_from_environment()) as broker, tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.sql.warehouse.dir", folder)
        spark = kafka_sql.enable(builder.config("spark.sql.session.timeZone", "UTC").getOrCreate())
        spark.sparkContext.setLogLevel("OFF")
        yield spark, Topics(broker.bootstrap_servers)
        spark.stop()


def print_shrunk(world: World, query: Query, is_keyed: bool = True) -> None:
    """Print a small world and query."""
    print(f"  shrunk: {sql(query, is_keyed)}")
    print("  " + "; ".join(f"{table.name} {table.kind} {table.schema()}" for table in world.tables))
    print("  " + "\n  ".join(map(str, world.history[:30])), flush=True)


def _run_worlds(spark: SparkSession, topics: Topics, arguments: argparse.Namespace) -> int:
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    started = time.monotonic()
    for seed in range(arguments.first, arguments.first + arguments.count):
        if time.monotonic() - started > arguments.minutes * 60:
            break
        is_keyed = seed % 5 != 4
        world = generate_world(seed, arguments.histories if is_keyed else 1)
        seeds = [arguments.only] if arguments.only is not None else range(arguments.queries)
        queries = [generate_query(world.tables, number) for number in seeds]
        results = run_queries(spark, topics, world, queries, is_keyed=is_keyed, at_once=arguments.at_once)
        for number, (query, outcome) in zip(seeds, results, strict=True):
            outcomes[outcome.outcome] += 1
            print(f"{seed}/{number}: {outcome.outcome}: {outcome.reason}: {sql(query, is_keyed)}", flush=True)
            if outcome.outcome == REFUSED:
                reasons[outcome.reason[:120]] += 1
            if outcome.outcome in (DIFFERENT, FAILED) and arguments.trials:
                smaller_world, smaller = shrink_query(
                    spark, topics, world, query, outcome, is_keyed=is_keyed, trials=arguments.trials
                )
                print_shrunk(smaller_world, smaller, is_keyed)
    print(dict(outcomes), *(f"{number} {reason}" for reason, number in reasons.most_common()), sep="\n")
    return outcomes[DIFFERENT] + outcomes[FAILED]


if __name__ == "__main__":
    sys.exit(main())
