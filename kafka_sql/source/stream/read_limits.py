"""Spark's side of admission control, which PySpark has from 4.2 on; 4.1 reads all there is in every batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_sql.definition import Definition
from kafka_sql.errors import UnsupportedOptionError
from kafka_sql.options import connector as opt
from kafka_sql.source.stream.rate_limits import Limits

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )

    AVAILABLE = True
else:
    try:
        from pyspark.sql.streaming.datasource import (
            ReadAllAvailable,
            ReadMaxBytes,
            ReadMaxRows,
            ReadMinRows,
            SupportsTriggerAvailableNow,
        )

        AVAILABLE = True
    except ImportError:
        AVAILABLE = False

        class SupportsTriggerAvailableNow:
            """Nothing to implement: this Spark ends such a query after one batch, by itself."""


__all__ = ["AVAILABLE", "SupportsTriggerAvailableNow", "check_admission_options", "default_limit", "is_limited"]


def check_admission_options(definition: Definition) -> None:
    """Refuse options of admission control where Spark has none.

    Raises:
        UnsupportedOptionError: names the option.
    """
    if AVAILABLE:
        return
    for option in (opt.MAX_OFFSETS, opt.MIN_OFFSETS, opt.MAX_BYTES, opt.MAX_TRIGGER_DELAY):
        if definition.options.is_set(option):
            raise UnsupportedOptionError(
                f"Table '{definition.name}': option '{option.key}' needs PySpark 4.2 or later: before, Spark does not "
                "ask a Python source how much it admits. Leave it out, or install a later PySpark."
            )


def default_limit(limits: Limits) -> ReadLimit:
    """What Spark is to hand back with each trigger that may be limited; it knows one limit, so the first one."""
    if limits.max_offsets is not None:
        return ReadMaxRows(limits.max_offsets)
    if limits.max_bytes is not None:
        return ReadMaxBytes(limits.max_bytes)
    return ReadMinRows(limits.min_offsets) if limits.min_offsets is not None else ReadAllAvailable()


def is_limited(limit: ReadLimit) -> bool:
    """Whether a trigger may be limited; Trigger.Once may not."""
    return not isinstance(limit, ReadAllAvailable)
