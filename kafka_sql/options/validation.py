"""Validate constraints between options: the checks of Flink's two table factories, with their order and messages.

Source: KafkaConnectorOptionsUtil, KafkaDynamicTableFactory and UpsertKafkaDynamicTableFactory of Flink's connector.
Flink checks source options when a table is read and sink options when it is written. Here, CREATE TABLE checks both.
Each function raises an OptionError for the first violation.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from typing import Any

from kafka_sql.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    MissingOptionError,
    UnknownOptionError,
    UnsupportedOptionError,
)
from kafka_sql.options import connector as opt
from kafka_sql.options.dynamic import check_metadata_service, check_streams
from kafka_sql.options.java_pattern import compile_java_pattern
from kafka_sql.options.option import Option, Options
from kafka_sql.options.positions import parse_specific_offsets
from kafka_sql.options.secrets import mask_user_info
from kafka_sql.suggestions import did_you_mean, find_similar_name

_LOG = logging.getLogger("kafka_sql.options")
_CLASS = re.compile(r"\w+(?:\.\w+)*:\w+")


def reject_unknown_options(
    connector: str, raw: Collection[str], known: Collection[str], other_formats: Collection[str]
) -> None:
    """Raise if an option belongs neither to the connector nor to a format.

    ``properties.*`` and ``sink.topic.config.*`` are validated by Kafka's client and brokers.

    Args:
        other_formats: the formats that the table does not have.

    Raises:
        UnknownOptionError: names every unknown option with the reason, or the nearest known one, or else the known
            ones to choose from.
    """
    prefixes = opt.PREFIXES if connector != opt.DYNAMIC_KAFKA else (opt.PROPERTIES_PREFIX,)
    unknown = [k for k in raw if k not in known and not k.startswith(prefixes)]
    if not unknown:
        return
    hints = {key: _describe_unknown(key, connector, known, other_formats) for key in unknown}
    unsupported = "; ".join(f"'{key}'" + (f" ({hint})" if hint else "") for key, hint in hints.items())
    choices = sorted(set().union(*(_related_options(key, known) for key, hint in hints.items() if not hint)))
    supported = f" Supported options: {', '.join(choices)}." if choices else ""
    raise UnknownOptionError(
        f"Unsupported options found for '{connector}'. Unsupported options: {unsupported}.{supported}",
        option=unknown[0],
    )


def _describe_unknown(key: str, connector: str, known: Collection[str], other_formats: Collection[str]) -> str | None:
    """Return why an option is unknown, or the known one that may be meant; None without either."""
    if connector == opt.UPSERT_KAFKA and key.startswith("scan.startup."):
        return f"'{opt.UPSERT_KAFKA}' always reads from the earliest offset; remove the option"
    format, _, name = key.removeprefix("value.").removeprefix("key.").partition(".")
    if format in other_formats:
        same = next((f"; did you mean '{k}'?" for k in sorted(known) if k.endswith(f".{name}")), "")
        return f"it belongs to the format '{format}', which is not a format of the table{same}"
    similar = next((k for k in sorted(known) if k.endswith(f".{key}")), None) or find_similar_name(key, known)
    return similar and f"did you mean '{similar}'?"


def _related_options(key: str, known: Collection[str]) -> set[str]:
    """Return the known options that start like an unknown one, quoted; all of them if there are none."""
    first_part = key.partition(".")[0] + "."
    all_options = {f"'{k}'" for k in known} | {f"'{p}*'" for p in opt.PREFIXES}
    return {k for k in all_options if k.startswith(f"'{first_part}")} or all_options


def check_kafka_options(options: Options) -> None:
    """Check the options of 'kafka': those of the source, then those of the sink.

    Raises:
        OptionError: the first violation.
    """
    _check_topic(options)
    _check_mode(options, opt.STARTUP_MODE, opt.STARTUP_TIMESTAMP, opt.STARTUP_OFFSETS, "startup")
    _check_initializer(options)
    _check_mode(options, opt.BOUNDED_MODE, opt.BOUNDED_TIMESTAMP, opt.BOUNDED_OFFSETS, "bounded")
    _check_limits(options)
    _check_error_handling(options)
    _check_partitioner(options)
    _check_creation(options)
    _check_guarantee(options)


def check_upsert_options(options: Options) -> None:
    """Check the options of 'upsert-kafka': those of the source, then those of the sink.

    Raises:
        OptionError: the first violation.
    """
    _check_mode(options, opt.BOUNDED_MODE, opt.BOUNDED_TIMESTAMP, opt.BOUNDED_OFFSETS, "bounded")
    _check_topic(options)
    _check_error_handling(options)
    rows, interval = opt.FLUSH_ROWS, opt.FLUSH_INTERVAL
    if (options[rows] > 0) != (options[interval] > 0):
        raise ConflictingOptionsError(
            f"'{rows.key}' and '{interval.key}' must be set to be greater than zero together to enable sink buffer "
            f"flushing.",
            option=rows.key,
        )
    _check_creation(options)
    _check_guarantee(options)


def check_dynamic_options(options: Options) -> None:
    """Check the options of 'dynamic-kafka', which is only a source.

    Raises:
        OptionError: the first violation.
    """
    check_streams(options)
    check_metadata_service(options, options.is_set(opt.BOOTSTRAP_SERVERS))
    for mode, timestamp, name in (
        (opt.STARTUP_MODE, opt.STARTUP_TIMESTAMP, "startup"),
        (opt.BOUNDED_MODE, opt.BOUNDED_TIMESTAMP, "bounded"),
    ):
        if options[mode] == opt.SPECIFIC:
            raise InvalidOptionError(
                f"Dynamic Kafka source does not support '{opt.SPECIFIC}' {name} mode.", option=mode.key
            )
        _check_mode(options, mode, timestamp, None, name)
    _check_limits(options)


def _check_topic(options: Options) -> None:
    pattern, partitions = options.get(opt.TOPIC_PATTERN), options.get(opt.SCAN_PARTITIONS)
    if options.is_set(opt.TOPIC) and pattern is not None:
        raise ConflictingOptionsError("Option 'topic' and 'topic-pattern' shouldn't be set together.", option="topic")
    if pattern is not None and partitions is not None:
        raise ConflictingOptionsError(
            f"Option 'topic-pattern' and '{opt.SCAN_PARTITIONS.key}' shouldn't be set together.", option="topic-pattern"
        )
    if not options.is_set(opt.TOPIC) and pattern is None and partitions is None:
        raise MissingOptionError("Either 'topic' or 'topic-pattern' must be set.", option="topic")
    if pattern is not None:
        try:
            compile_java_pattern(pattern)
        except ValueError as e:
            raise InvalidOptionError(
                f"Invalid value '{mask_user_info(pattern)}' for option 'topic-pattern': {e}.", option="topic-pattern"
            ) from e
    topics = options.get(opt.TOPIC)
    unlisted = sorted({t for t, _ in partitions or ()} - set(topics or ())) if topics else []
    if unlisted:
        raise ConflictingOptionsError(
            f"Topic '{unlisted[0]}' of option '{opt.SCAN_PARTITIONS.key}' is not listed in option 'topic'.",
            option=opt.SCAN_PARTITIONS.key,
        )


def _check_error_handling(options: Options) -> None:
    target = options.get(opt.ERROR_TARGET)
    if target is None:
        return
    if options[opt.ERROR_HANDLING] != opt.LOG:
        raise MissingOptionError(
            f"Option '{opt.ERROR_TARGET.key}' requires '{opt.ERROR_HANDLING.key}' = '{opt.LOG}'.",
            option=opt.ERROR_TARGET.key,
        )
    pattern = options.get(opt.TOPIC_PATTERN)
    if target in (opt.topics(options) or ()) or (
        pattern is not None and compile_java_pattern(pattern).fullmatch(target)
    ):
        raise ConflictingOptionsError(
            f"Topic '{target}' of option '{opt.ERROR_TARGET.key}' is read by the table itself, so that it would read "
            "its own dead letters. Set another topic.",
            option=opt.ERROR_TARGET.key,
        )


def _check_initializer(options: Options) -> None:
    key, text = opt.STARTUP_INITIALIZER.key, options.get(opt.STARTUP_INITIALIZER)
    if text is None:
        return
    if options.is_set(opt.STARTUP_MODE):
        raise ConflictingOptionsError(
            f"Option '{key}' and '{opt.STARTUP_MODE.key}' shouldn't be set together.", option=key
        )
    if not all(name.isidentifier() for name in text.replace(":", ".", 1).split(".")) or text.count(":") != 1:
        raise InvalidOptionError(
            f"Invalid value '{mask_user_info(text)}' for option '{key}': expected 'module:callable'.", option=key
        )


def _check_mode(
    options: Options, mode: Option[str], timestamp: Option[Any], offsets: Option[str] | None, name: str
) -> None:
    required: dict[str, Option[Any] | None] = {opt.TIMESTAMP: timestamp, opt.SPECIFIC: offsets}
    companion = required.get(options[mode])
    if companion is not None and not options.is_set(companion):
        raise MissingOptionError(
            f"'{companion.key}' is required in '{options[mode]}' {name} mode but missing. {companion.doc}",
            option=companion.key,
        )
    if offsets is not None and companion is offsets:
        _check_offsets(options, mode, offsets)


def _check_offsets(options: Options, mode: Option[str], key: Option[str]) -> None:
    entry_topics = {topic for topic, _ in parse_specific_offsets(options[key], key.key)}
    topics = opt.topics(options)
    if entry_topics == {None}:
        if topics is None or len(topics) != 1:
            raise ConflictingOptionsError(
                "Currently Kafka source only supports specific offset for single topic: option "
                f"'{mode.key}' is '{options[mode]}', so 'topic' must be one topic, or every entry of '{key.key}' must "
                "name its topic: 'topic:a,partition:0,offset:42'.",
                option=mode.key,
            )
        return
    pattern = options.get(opt.TOPIC_PATTERN)
    for topic in sorted(t for t in entry_topics if t is not None):
        if topic not in topics if topics is not None else not compile_java_pattern(pattern or "").fullmatch(topic):
            raise ConflictingOptionsError(
                f"Topic '{topic}' of option '{key.key}' is not a topic of the table."
                + did_you_mean(topic, topics or ()),
                option=key.key,
            )


def _check_limits(options: Options) -> None:
    min_offsets, max_offsets = options.get(opt.MIN_OFFSETS), options.get(opt.MAX_OFFSETS)
    if min_offsets is not None and max_offsets is not None and min_offsets > max_offsets:
        raise ConflictingOptionsError(
            f"Option '{opt.MIN_OFFSETS.key}' ({min_offsets}) must not be greater than '{opt.MAX_OFFSETS.key}' "
            f"({max_offsets}).",
            option=opt.MIN_OFFSETS.key,
        )


def _check_partitioner(options: Options) -> None:
    name = options[opt.PARTITIONER]
    if name not in opt.PARTITIONERS and not _CLASS.fullmatch(name):
        raise InvalidOptionError(
            f"Invalid value '{mask_user_info(name)}' for option '{opt.PARTITIONER.key}': expected "
            + ", ".join(f"'{p}'" for p in opt.PARTITIONERS)
            + " or a Python class as 'package.module:Class' (Java classes are not supported)."
            + did_you_mean(name, opt.PARTITIONERS),
            option=opt.PARTITIONER.key,
        )
    if options[opt.PARTITIONER] == opt.ROUND_ROBIN and options.is_set(opt.KEY_FIELDS):
        raise ConflictingOptionsError(
            "Currently 'round-robin' partitioner only works when option 'key.fields' is not specified.",
            option="key.fields",
        )


def _check_creation(options: Options) -> None:
    if not options[opt.TOPIC_CREATE]:
        for option in (opt.TOPIC_PARTITIONS, opt.TOPIC_REPLICATION):
            if options.is_set(option):
                raise _requires_creation(option.key)
    elif options.get(opt.TOPIC_PATTERN) is not None:
        raise ConflictingOptionsError(
            f"Option '{opt.TOPIC_CREATE.key}' = 'true' requires 'topic', and cannot be combined with 'topic-pattern'.",
            option=opt.TOPIC_CREATE.key,
        )


def check_topic_config(options: Options, raw: Mapping[str, str]) -> None:
    """Check that topic configurations are only set together with 'sink.topic.create'.

    Raises:
        ConflictingOptionsError: the first such option without 'sink.topic.create'.
    """
    config = [key for key in raw if key.startswith(opt.TOPIC_CONFIG_PREFIX)]
    if config and not options[opt.TOPIC_CREATE]:
        raise _requires_creation(config[0])


def _requires_creation(key: str) -> ConflictingOptionsError:
    return ConflictingOptionsError(f"Option '{key}' requires '{opt.TOPIC_CREATE.key}' = 'true'.", option=key)


def _check_guarantee(options: Options) -> None:
    if options[opt.DELIVERY_GUARANTEE] == opt.EXACTLY_ONCE and not options.is_set(opt.TRANSACTIONAL_ID_PREFIX):
        raise MissingOptionError(
            f"{opt.TRANSACTIONAL_ID_PREFIX.key} must be specified when using DeliveryGuarantee.EXACTLY_ONCE (option "
            f"'{opt.DELIVERY_GUARANTEE.key}').",
            option=opt.DELIVERY_GUARANTEE.key,
        )


def check_watermarks(options: Options) -> None:
    """Reject the way of emitting watermarks that Spark does not have, and log which options have no effect."""
    strategy = options[opt.WATERMARK_EMIT]
    if strategy != opt.ON_PERIODIC:
        raise UnsupportedOptionError(
            f"Option '{opt.WATERMARK_EMIT.key}' = '{strategy}' is not supported on Spark: Spark computes one watermark "
            f"per micro-batch, from the latest event time of the previous batches. Supported: '{opt.ON_PERIODIC}'.",
            option=opt.WATERMARK_EMIT.key,
        )
    without_effect: tuple[Option[Any], ...] = (opt.WATERMARK_IDLE, opt.WATERMARK_GROUP, opt.WATERMARK_UPDATE)
    for option in without_effect:
        if options.is_set(option):
            reason = option.doc.partition("Has no effect: ")[2].rstrip(".")
            _LOG.info("option '%s' has no effect: %s", option.key, reason)
