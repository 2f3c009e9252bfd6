"""Racks of executors, for tests: functions that 'scan.rack-id' names, and what the client says of where it reads."""

from __future__ import annotations

import logging
import os
from pathlib import Path

FOLDER = "RACK_TEST_FOLDER"


def by_executor() -> str:
    """One rack a process's working folder, which is an executor's own; statistics go into a file of the rack."""
    folder, here = Path(os.environ[FOLDER]), os.getcwd()
    for rack in "bc":
        try:
            with open(folder / f"rack-{rack}", "x") as taken:
                taken.write(here)
        except FileExistsError:
            if (folder / f"rack-{rack}").read_text() != here:
                continue
        _write_statistics(folder / f"statistics-{rack}")
        return rack
    raise AssertionError("a third executor")


def _write_statistics(file: Path) -> None:
    logger = logging.getLogger("kafka_sql.kafka.statistics")
    if not logger.handlers:
        logger.setLevel(logging.INFO)
        logger.addHandler(logging.FileHandler(file))


def b() -> str:
    """A rack of its own."""
    return "b"


def none() -> None:
    """No rack."""


def wrong() -> int:
    """No text."""
    return 1
