"""Adapt to Spark's admission control (ReadLimit), which PySpark supports since 4.2. 4.1 reads all available data."""

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
            """Empty: PySpark 4.1 ends a Trigger.AvailableNow query after one batch."""


__all__ = ["AVAILABLE", "SupportsTriggerAvailableNow", "check_admission_options", "default_limit", "is_limited"]


def check_admission_options(definition: Definition) -> None:
    """Reject admission control options if this PySpark does not support them.

    Raises:
        UnsupportedOptionError: names the option.
    """
    if AVAILABLE:
        return
    for option in (opt.MAX_OFFSETS, opt.MIN_OFFSETS, opt.MAX_BYTES, opt.MAX_TRIGGER_DELAY):
        if definition.options.is_set(option):
            raise UnsupportedOptionError(
                f"Table '{definition.name}': option '{option.key}' requires PySpark 4.2 or later. Remove the option, "
                "or upgrade PySpark.",
                table=definition.name,
                option=option.key,
            )


def default_limit(limits: Limits) -> ReadLimit:
    """Return the limit that Spark passes to ``latestOffset`` for limited triggers.

    Spark accepts one limit, so that this is the first one set. ``latestOffset`` applies them all.
    """
    if limits.max_offsets is not None:
        return ReadMaxRows(limits.max_offsets)
    if limits.max_bytes is not None:
        return ReadMaxBytes(limits.max_bytes)
    return ReadMinRows(limits.min_offsets) if limits.min_offsets is not None else ReadAllAvailable()


def is_limited(limit: ReadLimit) -> bool:
    """Return whether limits apply to a trigger. They do not apply to Trigger.Once."""
    return not isinstance(limit, ReadAllAvailable)
