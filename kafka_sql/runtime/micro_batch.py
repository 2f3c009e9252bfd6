"""Look up the micro-batch of a task, which Spark passes in local properties."""

from __future__ import annotations

from typing import Final

from pyspark import TaskContext

from kafka_sql.runtime.continuous_task import set_continuous_task
from kafka_sql.runtime.time_zone import set_default_time_zone

_BATCH_ID: Final = "streaming.sql.batchId"


def is_in_micro_batch() -> bool:
    """Return whether this is a task of a micro-batch, even if it reads or writes a table as a batch."""
    context = TaskContext.get()
    return context is not None and context.getLocalProperty(_BATCH_ID) is not None


def start_task(time_zone: str | None = None) -> None:
    """Make ``is_continuous_task`` return whether the task that starts now is in a micro-batch.

    Args:
        time_zone: see ``set_default_time_zone``.
    """
    set_continuous_task(is_in_micro_batch())
    set_default_time_zone(time_zone)
