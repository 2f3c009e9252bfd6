"""Drivers, workers and brokers are killed many times: a concurrent and a final reader see each row once."""

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
    """Run a campaign in a separate process, because it forks."""
    command = [sys.executable, "-m", "tests.kills", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=wait)
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    result: dict[str, Any] = json.loads(done.stdout)
    assert oracle.is_correct(result["concurrent"])
    assert oracle.is_correct(result["final"])
    return result


@pytest.mark.parametrize("naming", ["INCREMENTING", pytest.param("POOLING", marks=pytest.mark.long)])
def test_a_sample_of_kills(topics: Topics, naming: str) -> None:
    result = campaign("--kills", "10", "--naming", naming, "--bootstrap", topics.bootstrap, wait=280)
    assert sum(result["kills"].values()) == 10
    assert result["final"]["produced"] >= 10 * 40


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("naming", "kills"), [("INCREMENTING", 200), ("POOLING", 50)])
def test_many_kills_of_drivers_and_brokers(naming: str, kills: int) -> None:
    result = campaign("--kills", str(kills), "--seed", "2", "--naming", naming, wait=7000)
    assert sum(result["kills"].values()) >= kills
    assert result["kills"]["broker"] >= kills // 10


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_kills_of_brokers_in_a_cluster() -> None:
    result = campaign("--kills", "60", "--seed", "3", "--nodes", "3", wait=3500)
    assert result["kills"]["broker"] == 6


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("query", spark.QUERIES)
@pytest.mark.parametrize(("master", "drivers"), [("local[2,8]", 12), ("local-cluster[2,1,1024]", 6)])
def test_kills_of_spark_drivers_and_workers(tmp_path: Path, master: str, drivers: int, query: str) -> None:
    outcome = s02_workers_killed.run_drivers(tmp_path, master, drivers, 1000, query, random.Random(1))
    assert outcome.is_correct, outcome
    assert outcome.repetitions >= 2 * drivers
