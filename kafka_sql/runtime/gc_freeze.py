"""Exclude loaded modules from garbage collection in Spark workers.

Spark's workers collect garbage after each task, over all objects. With numba, pyarrow and similar packages loaded, this
takes 0.1 s of CPU time, more than a small task. Objects of modules live as long as the process anyway.
"""

from __future__ import annotations

import gc
import sys

from kafka_sql.runtime.worker_main import is_worker

_frozen_modules = 0  # number of modules that were loaded at the last freeze


def freeze_modules() -> None:
    """Freeze all objects of a Spark worker, and again after more modules were loaded.

    Does nothing in other processes: objects of a user's program may become garbage.
    """
    global _frozen_modules
    if len(sys.modules) != _frozen_modules and is_worker():
        gc.collect(1)  # a full collection would take as long as those that this saves
        gc.freeze()
        _frozen_modules = len(sys.modules)
