"""Statements of a text, a file or a pipe, one after the other; the first error ends it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from kafka_sql.cli.interruptible import Interrupted
from kafka_sql.cli.runner import Runner
from kafka_sql.cli.splitter import split, statements
from kafka_sql.sql.spark_errors import error_message


class Quit(Exception):
    """The statement ``quit`` or ``exit``."""


class Failed(Exception):
    """A statement failed, and its error has been printed.

    Attributes:
        code: what the process exits with.
    """

    def __init__(self, code: int = 1) -> None:
        super().__init__(code)
        self.code = code


def run_text(runner: Runner, text: str, origin: str | None = None) -> None:
    """Run the statements of a text.

    Args:
        origin: the file's name, for errors.

    Raises:
        Failed: at the first error.
        Quit: at ``quit``.
    """
    for piece in statements(text):
        run_statement(runner, piece.text, origin and f"{origin}:{text.count(chr(10), 0, piece.start) + 1}")


def run_lines(runner: Runner, lines: Iterable[str]) -> None:
    """Run statements as soon as their semicolons come; raises as ``run_text``."""
    waiting, number = "", 1
    for line in lines:
        waiting += line
        if ";" in line:
            pieces, rest = split(waiting)
            for piece in pieces:
                run_statement(runner, piece.text, f"stdin:{number + waiting.count(chr(10), 0, piece.start)}")
            number += waiting.count("\n", 0, rest)
            waiting = waiting[rest:]
    run_text(runner, waiting)


def run_file(runner: Runner, path: str) -> None:
    """Run a file, or standard input where it is ``-``; raises as ``run_text``."""
    if path == "-":
        run_lines(runner, sys.stdin)
        return
    try:
        text = Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        runner.screen.error(f"{path} cannot be read: {e.strerror if isinstance(e, OSError) else e}.")
        raise Failed from e
    run_text(runner, text, path)


def run_statement(runner: Runner, statement: str, place: str | None = None) -> None:
    """Run one statement, or one of spark-sql's own commands; raises as ``run_text``."""
    command, _, rest = statement.partition(" ")
    try:
        if command.lower() in ("quit", "exit") and not rest.strip():
            raise Quit
        started = time.monotonic()
        if statement.startswith("!"):
            _shell(runner, statement[1:])
        elif command.lower() == "source" and rest.strip():
            run_file(runner, rest.strip().strip("'\""))
        else:
            runner.run(statement)
            return
        runner.screen.info(f"Time taken: {time.monotonic() - started:.3f} seconds")
    except Interrupted as e:
        runner.screen.error("The statement was stopped.")
        raise Failed(128 + e.signal) from e
    except (Quit, Failed):
        raise
    except Exception as e:
        runner.screen.error(error_message(e))
        if place is not None:
            runner.screen.info(f"at {place}")
        raise Failed from e


def _shell(runner: Runner, command: str) -> None:
    code = subprocess.run(command, shell=True, check=False).returncode
    if code:
        runner.screen.error(f"Command failed with exit code = {code}")
