"""The program that Spark's shells run in Python does not import modules in the current folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from kafka_sql.extension.jar import SOURCES


def test_modules_in_the_current_folder_are_not_imported(tmp_path: Path) -> None:
    program = re.search(r'PROGRAM =\s+"(.*)";', (SOURCES / "Python.java").read_text())
    assert program is not None
    (tmp_path / "kafka_sql").mkdir()
    for planted in ("kafka_sql/__init__.py", "pyspark.py"):
        (tmp_path / planted).write_text("print('planted')")
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYTHON")},
        "PYSPARK_GATEWAY_PORT": "1",  # nothing listens
        "PYSPARK_GATEWAY_SECRET": "s",
    }
    done = subprocess.run(
        [sys.executable, "-c", program[1]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "planted" not in done.stdout
    assert "ConnectionRefusedError" in done.stderr  # as far as the connection
