"""Run the interactive shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec

from kafka_sql.cli import script
from kafka_sql.cli.runner import Runner
from kafka_sql.cli.running_jobs import report_failure, stop_jobs
from kafka_sql.sql.jobs.registry import FAILED, RUNNING, session_jobs
from kafka_sql.sql.recognize.splitter import split
from kafka_sql.version import VERSION

PromptReader = Callable[[str], str]  # returns the text entered at a prompt; raises EOFError at the end


def shell(runner: Runner) -> int:
    """Read and run statements until the user exits; return the exit code.

    A failed statement does not end the shell.
    """
    read = _prompt_reader(runner)
    versions = f"kafka-sql {VERSION}, Spark {runner.spark.version}"
    runner.screen.info(f"{versions}. End statements with ';'. Ctrl-C stops one, 'quit;' exits, 'help;' lists them.")
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
    running = [job for job in session_jobs(runner.spark) if job.status == RUNNING]
    if running:
        resume = "When restarted, they resume from their checkpoints."
        runner.screen.info(f"Stopping {len(running)} running job(s). {resume}")
        stop_jobs(running)
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
    from kafka_sql.cli.editor import editor

    return editor(runner)


def _read_plain(prompt: str) -> str:
    """Read a statement from a terminal without line editing."""
    text, shown_prompt = "", prompt
    while not text or not is_complete(text):
        print(shown_prompt, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        text, shown_prompt = text + line, continuation_prompt(prompt)
    return text


def continuation_prompt(prompt: str) -> str:
    """Return what is printed before the next lines of a statement, as wide as the prompt."""
    return "> ".rjust(len(prompt))


def _report_ended_jobs(runner: Runner, reported_runs: set[str]) -> None:
    """Report the jobs that have ended since the last prompt; add their run ids to ``reported_runs``."""
    for job in session_jobs(runner.spark):
        run = str(job.query.runId)
        if run not in reported_runs and job.status != RUNNING:
            reported_runs.add(run)
            if job.status == FAILED:
                report_failure(job, runner.screen)
            elif not job.stopped:
                runner.screen.info(f"Job {job.name} ({job.id}) has finished.")
