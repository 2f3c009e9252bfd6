"""What options must be to each other: the checks of Flink's two table factories, in their order and words.

Source: KafkaConnectorOptionsUtil, KafkaDynamicTableFactory and UpsertKafkaDynamicTableFactory of Flink's connector.
Flink checks a source when it is read and a sink when it is written; here both are checked with the statement.
"""

from __future__ import annotations

import re
from typing import Any

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError
from kafka_sql.options import connector as opt
from kafka_sql.options.offsets import specific_offsets
from kafka_sql.options.option import Option, Options


def check_kafka(options: Options) -> None:
    """The rules of 'kafka' as a source, then as a sink.

    Raises:
        OptionError: the first rule that is broken.
    """
    _check_topic(options)
    _check_mode(options, opt.STARTUP_MODE, opt.STARTUP_TIMESTAMP, opt.STARTUP_OFFSETS, "startup")
    _check_mode(options, opt.BOUNDED_MODE, opt.BOUNDED_TIMESTAMP, opt.BOUNDED_OFFSETS, "bounded")
    _check_partitioner(options)
    _check_guarantee(options)


def check_upsert(options: Options) -> None:
    """The rules of 'upsert-kafka' as a source, then as a sink.

    Raises:
        OptionError: the first rule that is broken.
    """
    _check_mode(options, opt.BOUNDED_MODE, opt.BOUNDED_TIMESTAMP, opt.BOUNDED_OFFSETS, "bounded")
    _check_topic(options)
    rows, interval = opt.FLUSH_ROWS, opt.FLUSH_INTERVAL
    if (options[rows] > 0) != (options[interval] > 0):
        raise ConflictingOptionsError(
            f"'{rows.key}' and '{interval.key}' must be set to be greater than zero together to enable sink buffer "
            f"flushing."
        )
    _check_guarantee(options)


def _check_topic(options: Options) -> None:
    pattern = options.get(opt.TOPIC_PATTERN)
    if options.given(opt.TOPIC) and pattern is not None:
        raise ConflictingOptionsError("Option 'topic' and 'topic-pattern' shouldn't be set together.")
    if not options.given(opt.TOPIC) and pattern is None:
        raise MissingOptionError(f"Either 'topic' or 'topic-pattern' must be set. {opt.TOPIC.doc}")
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as e:
            raise InvalidOptionError(f"Invalid value for option 'topic-pattern': no regular expression ({e}).") from e


def _check_mode(options: Options, mode: Option[str], timestamp: Option[int], offsets: Option[str], kind: str) -> None:
    companions: dict[str, Option[Any]] = {opt.TIMESTAMP: timestamp, opt.SPECIFIC: offsets}
    needed = companions.get(options[mode])
    if needed is not None and not options.given(needed):
        raise MissingOptionError(
            f"'{needed.key}' is required in '{options[mode]}' {kind} mode but missing. {needed.doc}"
        )
    if needed is offsets:
        topics = options.get(opt.TOPIC)
        if topics is None or len(topics) != 1:
            raise ConflictingOptionsError(
                "Currently Kafka source only supports specific offset for single topic: option "
                f"'{mode.key}' is '{options[mode]}', so 'topic' must name one topic."
            )
        specific_offsets(options[offsets], offsets.key)


def _check_partitioner(options: Options) -> None:
    if options[opt.PARTITIONER] == opt.ROUND_ROBIN and options.given(opt.KEY_FIELDS):
        raise ConflictingOptionsError(
            "Currently 'round-robin' partitioner only works when option 'key.fields' is not specified."
        )


def _check_guarantee(options: Options) -> None:
    if options[opt.DELIVERY_GUARANTEE] == opt.EXACTLY_ONCE and not options.given(opt.TRANSACTIONAL_ID_PREFIX):
        raise MissingOptionError(
            f"{opt.TRANSACTIONAL_ID_PREFIX.key} must be specified when using DeliveryGuarantee.EXACTLY_ONCE (option "
            f"'{opt.DELIVERY_GUARANTEE.key}')."
        )
