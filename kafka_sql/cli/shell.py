"""The interactive shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from kafka_sql.cli import script
from kafka_sql.cli.runner import Runner
from kafka_sql.cli.screen import Screen
from kafka_sql.cli.splitter import split
from kafka_sql.cli.wait_for_jobs import stop_jobs
from kafka_sql.sql.jobs.job_registry import FAILED, RUNNING, session_jobs
from kafka_sql.sql.spark_errors import error_message

HISTORY = Path("~/.kafka_sql_history")

Read = Callable[[str], str]  # the text that the user enters at a prompt; EOFError at the end


def shell(runner: Runner) -> int:
    """Read statements and carry them out until the user leaves; the process's exit code.

    A failed statement does not end the shell.
    """
    read = _plain if _dumb() else _editor(runner)
    runner.screen.info(_greeting(runner.spark))
    reported: set[str] = set()
    while True:
        _tell_ends(runner, reported)
        try:
            text = read(f"kafka-sql ({runner.spark.catalog.currentDatabase()})> ")
        except KeyboardInterrupt:  # the line is thrown away
            continue
        except EOFError:
            break
        try:
            script.run_text(runner, text)
        except script.Quit:
            break
        except script.Failed:
            pass
    _leave(runner.spark, runner.screen)
    return 0


def is_complete(text: str) -> bool:
    """Whether Enter carries the text out: nothing waits for a semicolon, or it is a command that needs none."""
    if text.strip().lower() in ("", "quit", "exit") or text.lstrip().startswith("!"):
        return True
    return not text[split(text)[1] :].strip()


def _dumb() -> bool:
    return os.environ.get("TERM", "dumb") in ("dumb", "unknown") or not sys.stdout.isatty()


def _plain(prompt: str) -> str:
    """Lines as the terminal gives them."""
    text, asked = "", prompt
    while not text or not is_complete(text):
        print(asked, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        text, asked = text + line, _continued(prompt)
    return text


def _editor(runner: Runner) -> Read:
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
        runner.screen.error(f"The history cannot be kept in {HISTORY}: {e.strerror}.")
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
        prompt_continuation=lambda width, line, wrap: _continued(" " * width),
    )

    def read(prompt: str) -> str:
        completer.invalidate()
        return session.prompt(prompt)

    return read


def _continued(prompt: str) -> str:
    return "> ".rjust(len(prompt))


def _greeting(spark: SparkSession) -> str:
    return f"Spark {spark.version}. Statements end in ';', 'quit;' or Ctrl-D leaves, Ctrl-C stops a statement."


def _tell_ends(runner: Runner, reported: set[str]) -> None:
    """Say of the jobs that have ended since the last prompt: nothing else would."""
    for job in session_jobs(runner.spark):
        run = str(job.query.runId)
        if run not in reported and job.status != RUNNING:
            reported.add(run)
            if job.status == FAILED:
                runner.screen.error(f"Job {job.name} ({job.id}) failed: {error_message(job.failure or Exception())}")
            elif not job.stopped:
                runner.screen.info(f"Job {job.name} ({job.id}) has finished.")


def _leave(spark: SparkSession, screen: Screen) -> None:
    running = [job for job in session_jobs(spark) if job.status == RUNNING]
    if running:
        screen.info(f"Stopping {len(running)} running job(s); started again, they continue from their checkpoints.")
        stop_jobs(running)
