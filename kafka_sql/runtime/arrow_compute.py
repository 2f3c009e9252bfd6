"""Give access to ``pyarrow.compute``, imported at first use.

Importing it takes 30 ms. Spark's planner processes import modules that use it in tasks only, and the first query of a
session waits for them.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Return a function of ``pyarrow.compute``, and store it here for later accesses."""
    import pyarrow.compute

    function = globals()[name] = getattr(pyarrow.compute, name)
    return function
