"""The demo is run as a user runs it, and fails where a figure is not what the input implies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]

# one cent of difference in what the input is said to imply
FORGED = """
import ddl_examples.demo as demo
from decimal import Decimal
demo.ORDERS = 2000
true = demo.fill
def fill(*arguments):
    implied = true(*arguments)
    implied.large[0] += Decimal("0.01")
    return implied
demo.fill = fill
raise SystemExit(demo.main())
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    # a Python of a virtual environment that was not activated: the workers must be it all the same
    environment = {k: v for k, v in os.environ.items() if k != "PYSPARK_PYTHON"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)


def test_every_figure_is_checked_and_right() -> None:
    done = run("-m", "ddl_examples.demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("as the input implies: ") == 8
    assert "All figures are what the input implies" in done.stdout
    for file in (ROOT / "ddl_examples" / "demo").glob("*.sql"):
        assert file.read_text().splitlines()[0] in done.stdout  # every statement is shown


@pytest.mark.long
def test_a_wrong_figure_fails_the_demo() -> None:
    done = run("-c", FORGED)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED: large orders: found" in done.stderr
