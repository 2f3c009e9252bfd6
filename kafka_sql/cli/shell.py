"""Run the interactive shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import SparkSession

from kafka_sql.cli import script
from kafka_sql.cli.runner import Runner
from kafka_sql.cli.running_jobs import stop_jobs
from kafka_sql.cli.screen import Screen
from kafka_sql.sql.errors.spark_errors import error_message
from kafka_sql.sql.jobs.registry.job_registry import FAILED, RUNNING, session_jobs
from kafka_sql.sql.recognize.splitter import split
from kafka_sql.version import VERSION

HISTORY = Path("~/.kafka_sql_history")

PromptReader = Callable[[str], str]  # returns the text entered at a prompt; raises EOFError at the end


def shell(runner: Runner) -> int:
    """Read and run statements until the user exits; return the exit code.

    A failed statement does not end the shell.
    """
    read = _prompt_reader(runner)
    runner.screen.info(_greeting(runner.spark))
    reported_runs: set[str] = set()
    while True:
        _report_ended_jobs(runner, reported_runs)
        try:
            text = read(f"kafka-sql ({runner.spark.catalog.currentDatabase()})> ")
        except KeyboardInterrupt:  # the line is discarded
            continue
        except EOFError:
            break
        try:
            script.run_text(runner, text)
        except script.Quit:
            break
        except (script.StatementFailed, KeyboardInterrupt):  # Ctrl-C in a command of the system, or between statements
            pass
    _stop_running_jobs(runner.spark, runner.screen)
    return 0


def is_complete(text: str) -> bool:
    """Return whether Enter runs the text: its last statement ends with a semicolon, or is a command that needs none."""
    if text.strip().lower() in ("", "help", "quit", "exit") or text.lstrip().startswith("!"):
        return True
    return not text[split(text)[1] :].strip()


def _prompt_reader(runner: Runner) -> PromptReader:
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown") or not sys.stdout.isatty():
        return _read_plain
    if find_spec("prompt_toolkit") is None:
        runner.screen.info("For line editing, history and completion, run: pip install 'kafka-sql[shell]'")
        return _read_plain
    return _editor(runner)


def _read_plain(prompt: str) -> str:
    """Read a statement from a terminal without line editing."""
    text, shown_prompt = "", prompt
    while not text or not is_complete(text):
        print(shown_prompt, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        text, shown_prompt = text + line, _continuation_prompt(prompt)
    return text


def _editor(runner: Runner) -> PromptReader:
    """Return a reader with line editing, history, completion and highlighting."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.filters import completion_is_selected
    from prompt_toolkit.history import History, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from kafka_sql.cli.completion import SqlCompleter
    from kafka_sql.cli.highlighting import STYLE, SqlHighlighter
    from kafka_sql.cli.history import MaskedHistory

    try:
        history: History = MaskedHistory(HISTORY.expanduser())
    except OSError as e:
        runner.screen.error(f"The history cannot be stored in {HISTORY}: {e.strerror}.")
        history = InMemoryHistory()
    keys = KeyBindings()

    @keys.add("enter", filter=~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    completer = SqlCompleter(runner.spark)
    session: PromptSession[str] = PromptSession(
        history=history,
        completer=completer,
        complete_in_thread=True,
        complete_while_typing=False,
        key_bindings=keys,
        lexer=SqlHighlighter(),
        style=STYLE,
        multiline=True,
        prompt_continuation=lambda width, line, wrap: _continuation_prompt(" " * width),
    )

    def read(prompt: str) -> str:
        completer.invalidate()
        return session.prompt(prompt)

    return read


def _continuation_prompt(prompt: str) -> str:
    return "> ".rjust(len(prompt))


def _greeting(spark: SparkSession) -> str:
    versions = f"kafka-sql {VERSION}, Spark {spark.version}"
    return f"{versions}. End statements with ';'. Ctrl-C stops one, 'quit;' exits, 'help;' lists them."


def _report_ended_jobs(runner: Runner, reported_runs: set[str]) -> None:
    """Report the jobs that have ended since the last prompt; add their run ids to ``reported_runs``."""
    for job in session_jobs(runner.spark):
        run = str(job.query.runId)
        if run not in reported_runs and job.status != RUNNING:
            reported_runs.add(run)
            if job.status == FAILED:
                runner.screen.error(f"Job {job.name} ({job.id}) failed: {error_message(job.failure or Exception())}")
            elif not job.stopped:
                runner.screen.info(f"Job {job.name} ({job.id}) has finished.")


def _stop_running_jobs(spark: SparkSession, screen: Screen) -> None:
    running = [job for job in session_jobs(spark) if job.status == RUNNING]
    if running:
        screen.info(f"Stopping {len(running)} running job(s). When restarted, they resume from their checkpoints.")
        stop_jobs(running)
