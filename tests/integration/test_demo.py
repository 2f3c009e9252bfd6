"""The demo succeeds when run by a user, and fails if a result is not as expected."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]

# changes an expected result by one cent
TAMPERED = """
import ddl_examples.demo as demo
from decimal import Decimal
demo.ORDERS = 2000
original = demo.fill
def fill(*arguments):
    expected = original(*arguments)
    expected.large[0] += Decimal("0.01")
    return expected
demo.fill = fill
raise SystemExit(demo.main())
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    # the virtual environment may not be activated; workers must use its Python anyway
    environment = {k: v for k, v in os.environ.items() if k != "PYSPARK_PYTHON"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)


@pytest.mark.long
def test_the_demo_succeeds() -> None:
    done = run("-m", "ddl_examples.demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("as expected: ") == 8
    assert "All results are as expected" in done.stdout
    for file in (ROOT / "ddl_examples" / "demo").glob("*.sql"):
        assert file.read_text().splitlines()[0] in done.stdout  # all statements are printed


@pytest.mark.long
def test_a_wrong_result_fails_the_demo() -> None:
    done = run("-c", TAMPERED)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED: large orders: found" in done.stderr
