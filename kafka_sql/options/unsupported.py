"""What Flink's options ask for and Spark cannot carry: refused by name with the reason, never ignored."""

from __future__ import annotations

import logging
from typing import Any, Final

from kafka_sql.errors import UnsupportedOptionError
from kafka_sql.options import connector as opt
from kafka_sql.options.option import Option, Options

_LOG = logging.getLogger("kafka_sql.options")
_ALIGNED: Final = (
    "Spark plans the batches of each source by itself and has no way to hold one source back until another one's "
    "watermark has come. Limit how far a batch reads by 'scan.max-offsets-per-trigger' instead"
)

# the option, those of its values that Spark can carry, and why it cannot carry the others
UNSUPPORTED: Final[tuple[tuple[Option[Any], tuple[str, ...], str], ...]] = (
    (
        opt.WATERMARK_EMIT,
        ("on-periodic",),
        "Spark makes one watermark a micro-batch, from the latest event time of the batches before",
    ),
    (opt.WATERMARK_GROUP, (), _ALIGNED),
    (opt.WATERMARK_DRIFT, (), _ALIGNED),
    (opt.WATERMARK_UPDATE, (), _ALIGNED),
)


def reject_unsupported_options(options: Options) -> None:
    """Refuse what Spark cannot carry.

    Raises:
        UnsupportedOptionError: names the option, its value and the reason.
    """
    for option, carried, why in UNSUPPORTED:
        if options.is_set(option) and options[option] not in carried:
            possible = "Allowed: " + ", ".join(f"'{v}'" for v in carried) if carried else "Leave it out"
            raise UnsupportedOptionError(
                f"Option '{option.key}' = '{options[option]}' is not supported on Spark: {why}. {possible}."
            )
    if options.is_set(opt.WATERMARK_IDLE):
        _LOG.info(
            "option '%s': Spark's watermark follows the latest event time of all partitions, so that an idle one never "
            "holds it back, be it for less time than that",
            opt.WATERMARK_IDLE.key,
        )
