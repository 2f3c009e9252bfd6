"""A Python for Spark's workers, which loads the pyspark that is installed: the command ``kafka-sql-python``.

Spark puts ``pyspark.zip`` and py4j's first on its workers' path. A zip keeps no bytecode, so each daemon that forks
workers, and each worker, compiles some hundred modules anew: 1 s of CPU time where folders take 0.2 s.

The daemon that forks the workers of tasks imports for them what each would import for itself, 0.5 s of CPU time, where
that starts no thread: a fork takes none along, and Python 3.12 and later warn of it. Importing pyarrow starts one.
"""

from __future__ import annotations

import os
import runpy
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Final

COMMAND: Final = "kafka-sql-python"
_TASKS: Final = ["pyspark.daemon", "pyspark.worker"]  # the daemon, and what its workers run


def main() -> None:
    """Do as ``python`` does with these arguments; Spark gives ``-m`` and a module."""
    if sys.argv[1:2] != ["-m"]:
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    sys.path[:] = without_zips(["", *sys.path[1:]])  # the first was this command's folder
    del sys.argv[:2]
    if sys.argv == _TASKS:
        import_for_all()
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except BrokenPipeError:  # a query was stopped, and Spark has closed the connection: who is to read a traceback?
        sys.exit(1)


def import_for_all() -> None:
    """Import what every task needs, as far as it starts no thread."""
    import confluent_kafka  # noqa: F401
    import numba.extending  # noqa: F401
    import numpy  # noqa: F401
    import pyspark.worker  # noqa: F401


def installed() -> str | None:
    """The command of the very Python that runs this; None where the package was not installed, but only found."""
    return shutil.which(COMMAND, path=sysconfig.get_path("scripts"))


def without_zips(path: list[str]) -> list[str]:
    """A module search path without the zips of a pyspark that is on it as a folder, too: the very same installation."""
    folders = {os.path.realpath(p) for p in path}
    return [p for p in path if not (_is_pysparks(p) and str(_installed_in(p)) in folders)]


def _is_pysparks(path: str) -> bool:
    name = Path(path).name
    if name == "pyspark.zip":
        return True
    return name.startswith("py4j-") and name.endswith(".zip") and (_installed_in(path) / "py4j").is_dir()


def _installed_in(zip_: str) -> Path:
    """``site-packages`` of ``site-packages/pyspark/python/lib/pyspark.zip``."""
    return Path(zip_).resolve().parents[3] if len(Path(zip_).parts) > 4 else Path()
