"""Run the statements of a text, a file or a pipe one by one, up to the first error."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from kafka_sql.cli.interrupts import Interrupted
from kafka_sql.cli.runner import Runner
from kafka_sql.cli.splitter import split, statements
from kafka_sql.sql.spark_errors import error_message


class Quit(Exception):
    """The script or the user ran ``quit`` or ``exit``."""


class Failed(Exception):
    """A statement failed, and its error was printed.

    Attributes:
        code: the exit code of the process.
    """

    def __init__(self, code: int = 1) -> None:
        super().__init__(code)
        self.code = code


def run_text(runner: Runner, text: str, origin: str | None = None) -> None:
    """Run the statements of a text.

    Args:
        origin: the file's name, for error messages.

    Raises:
        Failed: a statement failed.
        Quit: the text has ``quit``.
    """
    for piece in statements(text):
        run_statement(runner, piece.text, origin and f"{origin}:{text.count(chr(10), 0, piece.start) + 1}")


def run_sources(runner: Runner, sources: Iterable[tuple[str, str]]) -> None:
    """Run sources as in ``Arguments.sources``; raises as ``run_text``."""
    for type_, value in sources:
        (run_file if type_ == "file" else run_text)(runner, value)


def run_lines(runner: Runner, lines: Iterable[str]) -> None:
    """Run each statement as soon as its semicolon is read; raises as ``run_text``."""
    pending, number = "", 1
    for line in lines:
        pending += line
        if ";" in line:
            pieces, rest = split(pending)
            for piece in pieces:
                run_statement(runner, piece.text, f"stdin:{number + pending.count(chr(10), 0, piece.start)}")
            number += pending.count("\n", 0, rest)
            pending = pending[rest:]
    run_text(runner, pending)


def run_file(runner: Runner, path: str) -> None:
    """Run a file, or standard input for ``-``; raises as ``run_text``."""
    if path == "-":
        run_lines(runner, sys.stdin)
        return
    try:
        text = Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        runner.screen.error(f"{path} cannot be read: {e.strerror if isinstance(e, OSError) else e}.")
        raise Failed from e
    run_text(runner, text, path)


def run_statement(runner: Runner, statement: str, location: str | None = None) -> None:
    """Run one statement or one of spark-sql's commands; raises as ``run_text``."""
    command, _, rest = statement.partition(" ")
    try:
        if command.lower() in ("quit", "exit") and not rest.strip():
            raise Quit
        started = time.monotonic()
        if statement.startswith("!"):
            _run_shell_command(runner, statement[1:])
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
        if location is not None:
            runner.screen.info(f"at {location}")
        raise Failed from e


def _run_shell_command(runner: Runner, command: str) -> None:
    code = subprocess.run(command, shell=True, check=False).returncode
    if code:
        runner.screen.error(f"Command failed with exit code = {code}")
