"""Start Spark's Python workers with the installed pyspark: the command ``kafka-sql-python``.

Spark puts ``pyspark.zip`` and py4j's zip first on the module search path of its workers. The bytecode of zipped modules
is not cached, so each daemon that forks workers, and each worker, compiles about a hundred modules. This takes 1 s of
CPU time, compared to 0.2 s with folders.

The daemon that forks the task workers imports what each of them would import (0.5 s of CPU time), except modules that
start threads: threads do not survive a fork, and Python 3.12 and later warn about them. Importing pyarrow starts one.
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
_DAEMON: Final = "pyspark.daemon"  # forks the workers
_TASKS: Final = [_DAEMON, "pyspark.worker"]  # its arguments when it forks task workers


def main() -> None:
    """Run ``python`` with these arguments. Spark passes ``-m`` and a module."""
    if sys.argv[1:2] != ["-m"]:
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    # The first entry is the folder of this command. With python -m it would be the current folder, and with
    # PYTHONSAFEPATH neither is added.
    path = sys.path if getattr(sys.flags, "safe_path", False) else ["", *sys.path[1:]]
    sys.path[:] = without_zips(path)
    del sys.argv[:2]
    if sys.argv == _TASKS:
        preload_imports()
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except BrokenPipeError:  # Spark closed the connection of a stopped query; a traceback would be noise
        sys.exit(1)


def is_worker() -> bool:
    """Return whether this process is a Spark worker that was forked by the daemon."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec is not None and spec.name == _DAEMON


def preload_imports() -> None:
    """Import what all tasks need, except modules that start threads."""
    import confluent_kafka  # noqa: F401
    import numba.extending  # noqa: F401
    import numpy  # noqa: F401
    import pyspark.worker  # noqa: F401
    from numba.core.registry import cpu_target
    from numba.core.runtime.nrt import rtsys

    rtsys.initialize(cpu_target.target_context)  # compiles what compiled loops call, 0.1 s


def installed_command() -> str | None:
    """Return the path of the command of this Python; None if the package is only on the path, but not installed."""
    return shutil.which(COMMAND, path=sysconfig.get_path("scripts"))


def without_zips(path: list[str]) -> list[str]:
    """Return a module search path without the zips of a pyspark whose folder is also on the path."""
    folders = {os.path.realpath(p) for p in path}
    return [p for p in path if not (_is_pyspark_zip(p) and str(_site_packages(p)) in folders)]


def _is_pyspark_zip(path: str) -> bool:
    name = Path(path).name
    if name == "pyspark.zip":
        return True
    return name.startswith("py4j-") and name.endswith(".zip") and (_site_packages(path) / "py4j").is_dir()


def _site_packages(zip_: str) -> Path:
    """Return ``site-packages`` of ``site-packages/pyspark/python/lib/pyspark.zip``."""
    return Path(zip_).resolve().parents[3] if len(Path(zip_).parts) > 4 else Path()
