"""Run the tests in Java, ``java/src/test``, with JUnit. Warnings of the compiler are errors."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pyspark
import pytest

from tools.build_jar import java_test_command

pytestmark = pytest.mark.large  # starts a JVM


def test_java() -> None:
    command = java_test_command(Path(pyspark.__file__).with_name("jars"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[done.stdout.find("Failures (") :] + done.stderr
    passed = re.search(r"(\d+) tests successful", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 0
