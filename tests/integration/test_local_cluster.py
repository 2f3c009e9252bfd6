"""Reads and writes with executors in separate processes, so that everything they use must be pickled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration


@pytest.mark.long  # starts a Spark application with three more JVMs
@pytest.mark.timeout(1800)
def test_reads_and_writes(topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(2), topics.create(2)
    for partition in range(2):
        topics.produce(source, *(b'{"a": %d, "s": "x"}' % (2 * i + partition) for i in range(500)), partition=partition)
    done = subprocess.run(
        [
            sys.executable,
            str(Path(__file__).with_name("cluster_driver.py")),
            *(topics.bootstrap, source, target, str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        timeout=1780,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "executors": 2,
        "rows": [[1000, 1000, 499]],
        "tasks": 4,
        "written": [[1000, 0, 1999, sum(range(10)) + sum(range(1010, 2000))]],
    }
