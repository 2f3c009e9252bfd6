"""Run the command ``kafka-sql``."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imports take time, during which Ctrl-C would print a stack trace; and --help does not import Spark
    from kafka_sql.cli.arguments import Arguments
    from kafka_sql.cli.runner import Runner

_INTERRUPTED = 128 + signal.SIGINT  # an exit code


def main() -> int:
    """Run the command line and return the exit code."""
    try:
        return _run_command(sys.argv[1:])
    except BrokenPipeError:  # the reader of the output ended, as ``head`` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run_command(argv: list[str]) -> int:
    from kafka_sql.cli import check, class_archive, transactions
    from kafka_sql.cli.arguments import parse

    commands = {
        check.COMMAND: check.run,
        class_archive.COMMAND: class_archive.run,
        transactions.COMMAND: transactions.run,
    }
    if argv and argv[0] in commands:
        return commands[argv[0]](argv[1:])
    return _run(parse(argv))


def _run(arguments: Arguments) -> int:
    # Spark may be starting; Java exits with this process
    signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    from kafka_sql.cli.runner import Runner
    from kafka_sql.cli.screen import Screen
    from kafka_sql.cli.spark_session import start_session

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may have another encoding than UTF-8
    screen = Screen(arguments.silent)
    spark = start_session(arguments, screen)
    if spark is None:
        return 1
    signal.signal(signal.SIGINT, signal.default_int_handler)
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
