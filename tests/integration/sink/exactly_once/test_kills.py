"""kill -9, many times: each row is there once, for a reader that reads along and for one that comes at the end."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.scenarios import s02_workers_killed
from tests.kills import oracle, spark
from tests.topics import Topics

pytestmark = pytest.mark.integration


def campaign(*arguments: str, wait: float) -> dict[str, Any]:
    """In a process of its own, as it forks."""
    command = [sys.executable, "-m", "tests.kills", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=wait)
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    found: dict[str, Any] = json.loads(done.stdout)
    assert oracle.is_correct(found["concurrent"])
    assert oracle.is_correct(found["final"])
    return found


@pytest.mark.parametrize("naming", ["INCREMENTING", "POOLING"])
def test_a_sample_of_kills(topics: Topics, naming: str) -> None:
    found = campaign("--kills", "10", "--naming", naming, "--bootstrap", topics.bootstrap, wait=280)
    assert sum(found["kills"].values()) == 10
    assert found["final"]["produced"] >= 10 * 40


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("naming", "kills"), [("INCREMENTING", 200), ("POOLING", 50)])
def test_many_kills_of_drivers_and_brokers(naming: str, kills: int) -> None:
    found = campaign("--kills", str(kills), "--seed", "2", "--naming", naming, wait=7000)
    assert sum(found["kills"].values()) >= kills
    assert found["kills"]["broker"] >= kills // 10


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_brokers_of_a_cluster_are_killed_coordinators_among_them() -> None:
    found = campaign("--kills", "60", "--seed", "3", "--nodes", "3", wait=3500)
    assert found["kills"]["broker"] == 6


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("question", spark.QUERIES)
@pytest.mark.parametrize(("master", "lives"), [("local[2,8]", 12), ("local-cluster[2,1,1024]", 6)])
def test_spark_with_its_driver_and_its_workers_killed(tmp_path: Path, master: str, lives: int, question: str) -> None:
    outcome = s02_workers_killed.lives(tmp_path, master, lives, 1000, question, random.Random(1))
    assert outcome.is_correct, outcome
    assert outcome.repetitions >= 2 * lives
