"""Exactly-once with older brokers, and with the newest broker features enabled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(1800)]
FILES = (
    "sink/exactly_once/test_protocol.py",
    "sink/exactly_once/test_admin.py",
    "sink/exactly_once/test_timeouts.py",
    "kafka/direct/test_producer.py",
)


@pytest.mark.parametrize(
    "environment",
    [
        {"KAFKA_SQL_TEST_VERSION": "3.5.2"},
        {"KAFKA_SQL_TEST_VERSION": "3.9.1"},
        {"KAFKA_SQL_TEST_VERSION": "4.0.1"},
        {"KAFKA_SQL_TEST_VERSION": "4.1.1", "KAFKA_SQL_TEST_FEATURES": "transaction.version=2"},
        {"KAFKA_SQL_TEST_FEATURES": "transaction.version=2"},
    ],
    ids=lambda environment: "-".join(environment.values()),
)
def test_exactly_once_on(environment: dict[str, str]) -> None:
    here = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(str(here / name) for name in FILES)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=1700,
    )
    assert done.returncode == 0, done.stdout[-5000:]
