"""Compute calls in Flink 2.3 with ``FlinkValues.java``; its jars (150 MB) are downloaded once."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kafka_sql.embedded.java import find_java
from tests.function_differences.values import INPUTS_FILE, JAVA
from tools.build_jar import download_jars

LOCKFILE: Final = Path(__file__).with_name("flink.lock")
_OPENED: Final = ("java.base/java.lang", "java.base/java.util", "java.base/java.util.concurrent", "java.base/java.net")


def flink_lines(calls: Iterable[tuple[str, str]]) -> str:
    """Return Flink's results of tables and expressions, in the form of ``flink_values.tsv``."""
    class_path = os.pathsep.join(map(str, download_jars(LOCKFILE)))
    options = ["-Xmx2g", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-Dlog4j.level=OFF"]
    options += [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
    with tempfile.TemporaryDirectory() as folder:
        expressions, values = Path(folder, "expressions.tsv"), Path(folder, "values.tsv")
        expressions.write_text("".join(f"{table}\t{expression}\n" for table, expression in calls))
        command = [find_java(), *options, "-cp", class_path, str(JAVA), str(INPUTS_FILE), str(expressions)]
        subprocess.run([*command, str(values), "UTC"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return values.read_text()
