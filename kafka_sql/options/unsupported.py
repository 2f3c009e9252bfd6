"""Reject Flink options that cannot be implemented on Spark, with the reason. They are never ignored silently."""

from __future__ import annotations

import logging
from typing import Any, Final

from kafka_sql.errors import UnsupportedOptionError
from kafka_sql.options import connector as opt
from kafka_sql.options.option import Option, Options
from kafka_sql.options.secrets import mask_user_info

_LOG = logging.getLogger("kafka_sql.options")
_NO_ALIGNMENT: Final = (
    "Spark plans the batches of each source independently and cannot pause a source until the watermark of another one "
    "advances. Limit the size of batches with 'scan.max-offsets-per-trigger' instead"
)

# option, supported values, and why other values are not supported
UNSUPPORTED: Final[tuple[tuple[Option[Any], tuple[str, ...], str], ...]] = (
    (
        opt.WATERMARK_EMIT,
        ("on-periodic",),
        "Spark computes one watermark per micro-batch, from the latest event time of the previous batches",
    ),
    (opt.WATERMARK_GROUP, (), _NO_ALIGNMENT),
    (opt.WATERMARK_DRIFT, (), _NO_ALIGNMENT),
    (opt.WATERMARK_UPDATE, (), _NO_ALIGNMENT),
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
    if options.is_set(opt.WATERMARK_IDLE):
        _LOG.info(
            "option '%s' has no effect: Spark's watermark follows the latest event time of all partitions, so that an "
            "idle partition never delays it",
            opt.WATERMARK_IDLE.key,
        )
