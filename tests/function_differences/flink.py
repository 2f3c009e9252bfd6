"""Compute calls in Flink 2.3 with ``FlinkValues.java``."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.flink_command import flink_command
from tests.function_differences.values import INPUTS_FILE, JAVA


def flink_lines(calls: Iterable[tuple[str, str]]) -> str:
    """Return Flink's results of tables and expressions, in the form of ``flink_values.tsv``."""
    with tempfile.TemporaryDirectory() as folder:
        expressions, values = Path(folder, "expressions.tsv"), Path(folder, "values.tsv")
        expressions.write_text("".join(f"{table}\t{expression}\n" for table, expression in calls))
        command = flink_command(JAVA, str(INPUTS_FILE), str(expressions), str(values), "UTC")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return values.read_text()
