"""How transactions are named, so that one can tell whose they are."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import uuid
from typing import Final

# behind '<prefix>-t-': the run, and what tells its transactions apart
_TASK: Final = re.compile(r"([0-9a-f]{16})-(?:\d+-\d+-\d+|w[0-9a-f]{12}-\d+)")


def driver_id(prefix: str) -> str:
    """Under which a driver writes its decisions; the newest of the prefix fences the others."""
    return f"{prefix}-driver"


def task_prefix(prefix: str) -> str:
    """What all ids of tasks' transactions begin with."""
    return f"{prefix}-t-"


def run_of(prefix: str, transaction: str) -> str | None:
    """The run that a task's transaction belongs to; None where it is none of the prefix."""
    found = _TASK.fullmatch(transaction.removeprefix(task_prefix(prefix)))
    return found[1] if found is not None and transaction.startswith(task_prefix(prefix)) else None


def short(text: str) -> str:
    """16 hexadecimal digits for a run."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def incrementing(prefix: str, run: str, batch: int | None, partition: int, attempt: int) -> str:
    """A name that is never used again.

    Args:
        attempt: Spark's task attempt id, which is unique in a SparkContext.
    """
    return f"{task_prefix(prefix)}{run}-{batch or 0}-{partition}-{attempt}"


def pooling(prefix: str, run: str, batch: int | None) -> str:
    """A name that this process uses again in later batches of the run.

    Nobody else ever has it, so no task that was given up can disturb a transaction of its name. Within a batch it is
    not used twice: a transaction that is prepared would be aborted.
    """
    return f"{task_prefix(prefix)}{run}-w{_pool.process()}-{_pool.next(run, batch)}"


class _Pool:
    """The names that this process has given out in a batch."""

    def __init__(self) -> None:
        self._pid, self._name = 0, ""
        self._batches: dict[str, tuple[int | None, itertools.count[int]]] = {}

    def process(self) -> str:
        """12 hexadecimal digits for this process, which was perhaps forked off another."""
        if self._pid != os.getpid():
            self._pid, self._name, self._batches = os.getpid(), uuid.uuid4().hex[:12], {}
        return self._name

    def next(self, run: str, batch: int | None) -> int:
        """From 0 in each batch."""
        last, numbers = self._batches.get(run, (None, itertools.count()))
        if last != batch:
            numbers = itertools.count()
        self._batches = {run: (batch, numbers)}  # a process works for one run at a time, nearly always
        return next(numbers)


_pool: Final = _Pool()
