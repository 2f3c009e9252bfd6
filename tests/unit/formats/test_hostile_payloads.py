"""Test hostile payloads of 2 MB: each is decoded or reported within little memory, and its neighbors are decoded."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.documents import ROOT
from tests.unit.formats.hostile_payloads import TARGETS


@pytest.mark.large
@pytest.mark.skipif(sys.platform != "linux", reason="reads the size of the process from /proc")
@pytest.mark.parametrize("name", TARGETS)
def test_hostile_payloads_do_not_affect_others(name: str) -> None:
    command = [sys.executable, "-m", "tests.unit.formats.hostile_payloads", name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert [line.rpartition(": row")[0] or line.split(": [DECODE]")[0] for line in done.stdout.splitlines()] == [
        *TARGETS[name]()[2]
    ]
