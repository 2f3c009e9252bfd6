"""What a worker has loaded, out of the garbage collector's way.

Spark's workers collect garbage after each task, over all objects that there are: 0.1 s of CPU time where numba, pyarrow
and their kin are loaded, which is more than a small task takes. What modules hold lives as long as the process.
"""

from __future__ import annotations

import gc
import sys

from kafka_sql.runtime.worker_process import is_worker

_frozen = 0  # so many modules


def freeze_modules() -> None:
    """Keep the collector off all objects of a worker of Spark, once, and again when more modules were loaded.

    Another process is left alone: what a program has made by now may become garbage.
    """
    global _frozen
    if len(sys.modules) != _frozen and is_worker():
        gc.collect(1)  # a whole collection takes as long as those that are to be spared
        gc.freeze()
        _frozen = len(sys.modules)
