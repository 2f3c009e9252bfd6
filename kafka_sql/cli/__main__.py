"""Run the command ``kafka-sql``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kafka_sql.cli import check, class_archive, transactions
from kafka_sql.cli.arguments import Arguments, parse

if TYPE_CHECKING:  # --help does not import Spark
    from kafka_sql.cli.runner import Runner


def main() -> int:
    """Run the command line and return the exit code."""
    try:
        if sys.argv[1:2] == [transactions.COMMAND]:
            return transactions.run(sys.argv[2:])
        if sys.argv[1:2] == [class_archive.COMMAND]:
            return class_archive.run(sys.argv[2:])
        if sys.argv[1:2] == [check.COMMAND]:
            return check.run(sys.argv[2:])
        return _run(parse(sys.argv[1:]))
    except BrokenPipeError:  # the reader of the output ended, as ``head`` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:  # while Spark starts or stops
        return 130


def _run(arguments: Arguments) -> int:
    from kafka_sql.cli.runner import Runner
    from kafka_sql.cli.screen import Screen
    from kafka_sql.cli.spark_session import start_session

    screen = Screen(arguments.silent)
    spark = start_session(arguments, screen)
    if spark is None:
        return 1
    try:
        return _run_sources(arguments, Runner(spark, screen, arguments.verbose))
    finally:
        spark.stop()


def _run_sources(arguments: Arguments, runner: Runner) -> int:
    from kafka_sql.cli import script
    from kafka_sql.cli.running_jobs import wait_for_jobs

    try:
        script.run_sources(runner, [("file", path) for path in arguments.init])
        if not arguments.sources and sys.stdin.isatty():
            from kafka_sql.cli.shell import shell

            return shell(runner)
        script.run_sources(runner, arguments.sources or [("file", "-")])
    except script.Quit:
        pass
    except script.StatementFailed as e:
        return e.exit_code
    return wait_for_jobs(runner.spark, runner.screen)


if __name__ == "__main__":
    sys.exit(main())
