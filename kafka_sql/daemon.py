"""Spark's daemon that forks Python workers, with the pyspark that is installed.

Spark puts ``pyspark.zip`` first on its workers' path; a zip keeps no bytecode, so each new worker compiles 150 modules:
1.2 s of CPU time where the same modules in a folder take 0.25 s. ``spark.python.daemon.module`` names this module.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

CONF: Final = "spark.python.daemon.module"


def without_zip(path: list[str]) -> list[str]:
    """A module search path without the zip of a pyspark that is on it as a folder, too: the very same installation."""
    folders = {os.path.realpath(p) for p in path}
    return [p for p in path if not (p.endswith("pyspark.zip") and str(_installed_in(p)) in folders)]


def _installed_in(zip_: str) -> Path:
    """``site-packages`` of ``site-packages/pyspark/python/lib/pyspark.zip``."""
    return Path(zip_).resolve().parents[3] if len(Path(zip_).parts) > 4 else Path()


if __name__ == "__main__":
    sys.path[:] = without_zip(sys.path)
    from pyspark.daemon import manager

    manager()
