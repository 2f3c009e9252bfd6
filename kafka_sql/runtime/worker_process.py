"""Which process this is."""

from __future__ import annotations

import sys
from typing import Final

_DAEMON: Final = "pyspark.daemon"  # which workers are forked from


def is_worker() -> bool:
    """Whether this process is one of Spark's workers."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec is not None and spec.name == _DAEMON
