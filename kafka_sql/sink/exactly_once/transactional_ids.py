"""Build and parse transactional ids, which identify the prefix and the run that a transaction belongs to.

A run is one start of a query or of a batch statement.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import uuid
from typing import Final

# after '<prefix>-t-': the run, then the transaction within the run
_TASK: Final = re.compile(r"([0-9a-f]{16})-(?:\d+-\d+-\d+|w[0-9a-f]{12}-\d+)")
_MAX_RUNS: Final = 1_000  # far more than an application runs at a time


def driver_id(prefix: str) -> str:
    """Return the id under which a driver writes its decisions. The newest driver of a prefix fences the others."""
    return f"{prefix}-driver"


def task_prefix(prefix: str) -> str:
    """Return the common prefix of the ids of all tasks' transactions."""
    return f"{prefix}-t-"


def parse_run(prefix: str, transaction: str) -> str | None:
    """Return the run that a task's transaction belongs to; None if it does not belong to the prefix."""
    match = _TASK.fullmatch(transaction.removeprefix(task_prefix(prefix)))
    return match[1] if match is not None and transaction.startswith(task_prefix(prefix)) else None


def run_id(unique_id: str) -> str:
    """Return 16 hexadecimal digits that identify a run.

    Args:
        unique_id: Spark's run id of the streaming query, or the unique id of the statement.
    """
    return hashlib.sha256(unique_id.encode()).hexdigest()[:16]


def incrementing_id(prefix: str, run: str, batch: int | None, partition: int, attempt: int) -> str:
    """Return an id that is never reused.

    Args:
        attempt: Spark's task attempt id, unique within a SparkContext.
    """
    return f"{task_prefix(prefix)}{run}-{batch or 0}-{partition}-{attempt}"


def pooling_id(prefix: str, run: str, batch: int | None) -> str:
    """Return an id that this process reuses in later batches of the run.

    No other process uses it, so an abandoned task attempt elsewhere cannot fence it. Within a batch it is used only
    once, because beginning a second transaction would abort the prepared one.
    """
    return f"{task_prefix(prefix)}{run}-w{_pool.process()}-{_pool.next(run, batch)}"


class _Pool:
    """The ids that this process has used in the current batch of each run. A worker serves several runs in turn."""

    def __init__(self) -> None:
        self._pid, self._name = 0, ""
        self._batches: dict[str, tuple[int | None, itertools.count[int]]] = {}

    def process(self) -> str:
        """Return 12 hexadecimal digits that identify this process. They change after a fork."""
        if self._pid != os.getpid():
            self._pid, self._name, self._batches = os.getpid(), uuid.uuid4().hex[:12], {}
        return self._name

    def next(self, run: str, batch: int | None) -> int:
        """Return the next number, from 0 in each batch of a run."""
        last, numbers = self._batches.pop(run, (None, itertools.count()))
        if last != batch:
            numbers = itertools.count()
        self._batches[run] = batch, numbers
        if len(self._batches) > _MAX_RUNS:
            del self._batches[next(iter(self._batches))]  # the run that was used least recently
        return next(numbers)


_pool: Final = _Pool()
