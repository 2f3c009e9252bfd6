"""Reject Flink options that cannot be implemented on Spark, with the reason. They are never ignored silently."""

from __future__ import annotations

import logging
from typing import Any, Final

from kafka_sql.errors import UnsupportedOptionError
from kafka_sql.options import connector as opt
from kafka_sql.options.option import Option, Options
from kafka_sql.options.secrets import mask_user_info

_LOG = logging.getLogger("kafka_sql.options")

# option, supported values, and why other values are not supported
UNSUPPORTED: Final[tuple[tuple[Option[Any], tuple[str, ...], str], ...]] = (
    (
        opt.WATERMARK_EMIT,
        ("on-periodic",),
        "Spark computes one watermark per micro-batch, from the latest event time of the previous batches",
    ),
)
_WITHOUT_EFFECT: Final[tuple[tuple[Option[Any], str], ...]] = (
    (opt.WATERMARK_IDLE, "a partition without unread records never delays Spark's watermark"),
    (opt.WATERMARK_GROUP, "the partitions of each table are aligned; a query's watermark follows its slowest table"),
    (opt.WATERMARK_UPDATE, "partitions are aligned in each micro-batch"),
)


def reject_unsupported_options(options: Options) -> None:
    """Raise if an option is set to a value that is not supported on Spark.

    Raises:
        UnsupportedOptionError: names the option, its value and the reason.
    """
    for option, supported, reason in UNSUPPORTED:
        if options.is_set(option) and options[option] not in supported:
            value = mask_user_info(str(options[option]))
            fix = "Supported: " + ", ".join(f"'{v}'" for v in supported) if supported else "Remove the option"
            raise UnsupportedOptionError(
                f"Option '{option.key}' = '{value}' is not supported on Spark: {reason}. {fix}.",
                option=option.key,
            )
    for option, reason in _WITHOUT_EFFECT:
        if options.is_set(option):
            _LOG.info("option '%s' has no effect: %s", option.key, reason)
