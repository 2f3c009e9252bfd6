"""Run the statements in a string, a file or a pipe one by one, up to the first error, which raises StatementFailed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NoReturn

from pyspark.errors import AnalysisException, PySparkException

from kafka_sql.cli.interrupts import Interrupted
from kafka_sql.cli.runner import Runner
from kafka_sql.sql.errors.spark_errors import error_message
from kafka_sql.sql.recognize.splitter import split, statements
from kafka_sql.suggestions import did_you_mean

HELP: Final = """\
Statements end with ';'. All statements of Spark SQL work, and Flink's for Kafka tables:

  CREATE TABLE name (columns) WITH ('connector' = 'kafka', ...);   declare a table; also LIKE, AS, OR REPLACE
  ALTER TABLE name ADD | MODIFY | DROP | RENAME | SET | RESET ...; change the declaration
  DROP TABLE name;                     drop the declaration; the topic stays
  SHOW TABLES;                         list tables
  DESCRIBE name;                       list columns
  SHOW CREATE TABLE name;              show the declaration, with secrets masked
  SELECT ...;                          query; streams in streaming mode, until Ctrl-C
  INSERT INTO name SELECT ...;         write; in streaming mode, start a job
  EXECUTE STATEMENT SET BEGIN ... END; start several INSERTs
  SET 'execution.runtime-mode' = 'streaming';    or 'batch', the default
  SET 'execution.checkpointing.dir' = '/path';   where jobs store their progress
  SHOW JOBS [EXTENDED];  STOP JOB 'id';          list or stop jobs

Commands of the shell:

  source FILE;        run the statements of a file
  !COMMAND            run a command of the system
  help;  quit;        or Ctrl-D to exit. Ctrl-C stops a statement. Tab completes"""


class Quit(Exception):
    """The script or the user ran ``quit`` or ``exit``."""


class StatementFailed(Exception):
    """A statement failed, and its error has been printed. The exit code is that of the process."""

    def __init__(self, exit_code: int = 1) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def run_text(runner: Runner, text: str, origin: str | None = None) -> None:
    """Run the statements in a string. The origin is the name of the file that contains them, for error messages."""
    for statement in statements(text):
        line_number = text.count("\n", 0, statement.start) + 1
        run_statement(runner, statement.text, origin and f"{origin}:{line_number}")


def run_sources(runner: Runner, sources: Iterable[tuple[str, str]]) -> None:
    """Run files and statements in order, which are pairs as in ``Arguments``."""
    for type, value in sources:
        (run_file if type == "file" else run_text)(runner, value)


def run_lines(runner: Runner, lines: Iterable[str]) -> None:
    """Run each statement as soon as its semicolon is read."""
    pending, line_number = "", 1  # text that has not run yet, and the number of its first line
    for line in lines:
        pending += line
        if ";" in line:
            complete_statements, end = split(pending)
            for statement in complete_statements:
                location = f"stdin:{line_number + pending.count(chr(10), 0, statement.start)}"
                run_statement(runner, statement.text, location)
            line_number += pending.count("\n", 0, end)
            pending = pending[end:]
    run_text(runner, pending)


def find_unreadable(paths: Iterable[str]) -> str | None:
    """Return a message about the first file that cannot be read; None if all can. Opens no file: it may be a pipe."""
    for path in paths:
        file = Path(path).expanduser()
        if path != "-" and (not os.access(file, os.R_OK) or file.is_dir()):
            code = errno.EISDIR if file.is_dir() else errno.EACCES if file.exists() else errno.ENOENT
            return _unreadable(path, os.strerror(code))
    return None


def _unreadable(path: str, cause: object) -> str:
    return f"{path} cannot be read: {cause}."


def run_file(runner: Runner, path: str) -> None:
    """Run a file, or standard input for ``-``."""
    if path == "-":
        try:
            run_lines(runner, sys.stdin)
        except UnicodeDecodeError as e:
            _fail(runner, "Standard input", e)
        return
    try:
        text = Path(path).expanduser().read_text("utf-8-sig")  # editors on Windows write a byte order mark
    except (OSError, UnicodeDecodeError) as e:
        _fail(runner, path, e)
    run_text(runner, text, path)


def _fail(runner: Runner, source: str, error: OSError | UnicodeDecodeError) -> NoReturn:
    runner.screen.error(_unreadable(source, error.strerror if isinstance(error, OSError) else error))
    raise StatementFailed from error


def run_statement(runner: Runner, statement: str, location: str | None = None) -> None:
    """Run a statement or a command (``quit``, ``source``, ``!``, ``help``). The location is for error messages."""
    command, _, argument = statement.partition(" ")
    try:
        if command.lower() in ("quit", "exit") and not argument.strip():
            raise Quit
        if command.lower() == "help" and not argument.strip():
            runner.screen.rows(HELP.splitlines())
            return
        start = time.monotonic()
        if statement.startswith("!"):
            exit_code = subprocess.run(statement[1:], shell=True, check=False).returncode
            if exit_code:
                runner.screen.error(f"Command failed with exit code = {exit_code}")
        elif command.lower() == "source" and argument.strip():
            run_file(runner, argument.strip().strip("'\""))
        else:
            runner.run(statement)
            return
        runner.screen.info(f"Time taken: {time.monotonic() - start:.3f} seconds")
    except Interrupted as e:
        runner.screen.error("The statement was stopped.")
        raise StatementFailed(128 + e.signal) from e
    except (Quit, StatementFailed):
        raise
    except Exception as e:
        runner.screen.error(error_message(e) + similar_table(runner, e))
        if location is not None:
            runner.screen.info(f"at {location}")
        raise StatementFailed from e


def similar_table(runner: Runner, error: Exception) -> str:
    """Return a line with the table whose name is most similar to one that Spark did not find, or an empty text."""
    if not isinstance(error, AnalysisException) or error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return ""
    name = (error.getMessageParameters() or {}).get("relationName", "").rpartition(".")[2].strip("`")
    try:
        suggestion = did_you_mean(name, [table.name for table in runner.spark.catalog.listTables()])
    except PySparkException:  # a catalog that cannot list tables
        return ""
    return f"\n{suggestion.strip()}" if suggestion else ""
