"""What options must be to each other: the checks of Flink's two table factories, in their order and words.

Source: KafkaConnectorOptionsUtil, KafkaDynamicTableFactory and UpsertKafkaDynamicTableFactory of Flink's connector.
Flink checks a source when it is read and a sink when it is written; here both are checked with the statement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from kafka_sql.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    MissingOptionError,
    UnknownOptionError,
    did_you_mean,
    nearest,
)
from kafka_sql.options import connector as opt
from kafka_sql.options.java_pattern import compile_java_pattern
from kafka_sql.options.offsets import parse_specific_offsets
from kafka_sql.options.option import Option, Options

_CLASS = re.compile(r"\w+(?:\.\w+)*:\w+")


def reject_unknown_options(connector: str, raw: Collection[str], known: Collection[str]) -> None:
    """Raise if an option belongs neither to the connector nor to a format.

    ``properties.*`` and ``sink.topic.config.*`` are validated by Kafka's client and brokers.

    Raises:
        UnknownOptionError: names every unknown option, the nearest known one, and all known ones.
    """
    unknown = [k for k in raw if k not in known and not k.startswith(opt.PREFIXES)]
    if not unknown:
        return
    unsupported = "; ".join(f"'{k}'{_near(k, known)}" for k in unknown)
    prefixes = ", ".join(f"'{p}*'" for p in opt.PREFIXES)
    supported = ", ".join(f"'{k}'" for k in sorted(known))
    raise UnknownOptionError(
        f"Unsupported options found for '{connector}'. Unsupported options: {unsupported}. "
        f"Supported options: {supported}, {prefixes}."
    )


def _near(key: str, known: Collection[str]) -> str:
    near = nearest(key, known)
    return f" (did you mean '{near}'?)" if near else ""


def check_kafka_options(options: Options) -> None:
    """The rules of 'kafka' as a source, then as a sink.

    Raises:
        OptionError: the first rule that is broken.
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
    """The rules of 'upsert-kafka' as a source, then as a sink.

    Raises:
        OptionError: the first rule that is broken.
    """
    _check_mode(options, opt.BOUNDED_MODE, opt.BOUNDED_TIMESTAMP, opt.BOUNDED_OFFSETS, "bounded")
    _check_topic(options)
    _check_error_handling(options)
    rows, interval = opt.FLUSH_ROWS, opt.FLUSH_INTERVAL
    if (options[rows] > 0) != (options[interval] > 0):
        raise ConflictingOptionsError(
            f"'{rows.key}' and '{interval.key}' must be set to be greater than zero together to enable sink buffer "
            f"flushing."
        )
    _check_creation(options)
    _check_guarantee(options)


def _check_topic(options: Options) -> None:
    pattern, partitions = options.get(opt.TOPIC_PATTERN), options.get(opt.SCAN_PARTITIONS)
    if options.is_set(opt.TOPIC) and pattern is not None:
        raise ConflictingOptionsError("Option 'topic' and 'topic-pattern' shouldn't be set together.")
    if pattern is not None and partitions is not None:
        raise ConflictingOptionsError(
            f"Option 'topic-pattern' and '{opt.SCAN_PARTITIONS.key}' shouldn't be set together."
        )
    if not options.is_set(opt.TOPIC) and pattern is None and partitions is None:
        raise MissingOptionError(f"Either 'topic' or 'topic-pattern' must be set. {opt.TOPIC.doc}")
    if pattern is not None:
        try:
            compile_java_pattern(pattern)
        except ValueError as e:
            raise InvalidOptionError(f"Invalid value '{pattern}' for option 'topic-pattern': {e}.") from e
    topics = options.get(opt.TOPIC)
    foreign = sorted({t for t, _ in partitions or ()} - set(topics or ())) if topics else []
    if foreign:
        raise ConflictingOptionsError(
            f"Option '{opt.SCAN_PARTITIONS.key}' names '{foreign[0]}', which option 'topic' does not name."
        )


def _check_error_handling(options: Options) -> None:
    target = options.get(opt.ERROR_TARGET)
    if target is None:
        return
    if options[opt.ERROR_HANDLING] != opt.LOG:
        raise MissingOptionError(f"Option '{opt.ERROR_TARGET.key}' needs '{opt.ERROR_HANDLING.key}' = '{opt.LOG}'.")
    pattern = options.get(opt.TOPIC_PATTERN)
    if target in (opt.topics(options) or ()) or (
        pattern is not None and compile_java_pattern(pattern).fullmatch(target)
    ):
        raise ConflictingOptionsError(
            f"Option '{opt.ERROR_TARGET.key}' names '{target}', which the table itself reads: its dead letters would "
            "come back. Name another topic."
        )


def _check_initializer(options: Options) -> None:
    key, text = opt.STARTUP_INITIALIZER.key, options.get(opt.STARTUP_INITIALIZER)
    if text is None:
        return
    if options.is_set(opt.STARTUP_MODE):
        raise ConflictingOptionsError(f"Option '{key}' and '{opt.STARTUP_MODE.key}' shouldn't be set together.")
    if not all(name.isidentifier() for name in text.replace(":", ".", 1).split(".")) or text.count(":") != 1:
        raise InvalidOptionError(f"Invalid value '{text}' for option '{key}': expected 'module:callable'.")


def _check_mode(options: Options, mode: Option[str], timestamp: Option[Any], offsets: Option[str], kind: str) -> None:
    companions: dict[str, Option[Any]] = {opt.TIMESTAMP: timestamp, opt.SPECIFIC: offsets}
    needed = companions.get(options[mode])
    if needed is not None and not options.is_set(needed):
        raise MissingOptionError(
            f"'{needed.key}' is required in '{options[mode]}' {kind} mode but missing. {needed.doc}"
        )
    if needed is offsets:
        _check_offsets(options, mode, offsets)


def _check_offsets(options: Options, mode: Option[str], key: Option[str]) -> None:
    named = {topic for topic, _ in parse_specific_offsets(options[key], key.key)}
    topics = opt.topics(options)
    if named == {None}:
        if topics is None or len(topics) != 1:
            raise ConflictingOptionsError(
                "Currently Kafka source only supports specific offset for single topic: option "
                f"'{mode.key}' is '{options[mode]}', so 'topic' must name one topic, or every entry of '{key.key}' its "
                "own: 'topic:a,partition:0,offset:42'."
            )
        return
    pattern = options.get(opt.TOPIC_PATTERN)
    for topic in sorted(t for t in named if t is not None):
        if topic not in topics if topics is not None else not compile_java_pattern(pattern or "").fullmatch(topic):
            raise ConflictingOptionsError(
                f"Option '{key.key}' names topic '{topic}', which is none of the table's."
                + did_you_mean(topic, topics or ())
            )


def _check_limits(options: Options) -> None:
    fewest, most = options.get(opt.MIN_OFFSETS), options.get(opt.MAX_OFFSETS)
    if fewest is not None and most is not None and fewest > most:
        raise ConflictingOptionsError(
            f"Option '{opt.MIN_OFFSETS.key}' ({fewest}) must not be more than '{opt.MAX_OFFSETS.key}' ({most})."
        )


def _check_partitioner(options: Options) -> None:
    name = options[opt.PARTITIONER]
    if name not in opt.PARTITIONERS and not _CLASS.fullmatch(name):
        raise InvalidOptionError(
            f"Invalid value '{name}' for option '{opt.PARTITIONER.key}': expected "
            + ", ".join(f"'{p}'" for p in opt.PARTITIONERS)
            + " or a Python class as 'package.module:Class' (a class of Java cannot be loaded here)."
            + did_you_mean(name, opt.PARTITIONERS)
        )
    if options[opt.PARTITIONER] == opt.ROUND_ROBIN and options.is_set(opt.KEY_FIELDS):
        raise ConflictingOptionsError(
            "Currently 'round-robin' partitioner only works when option 'key.fields' is not specified."
        )


def _check_creation(options: Options) -> None:
    if not options[opt.TOPIC_CREATE]:
        for said in (opt.TOPIC_PARTITIONS, opt.TOPIC_REPLICATION):
            if options.is_set(said):
                raise _without_creation(said.key)
    elif options.get(opt.TOPIC_PATTERN) is not None:
        raise ConflictingOptionsError(
            f"Option '{opt.TOPIC_CREATE.key}' = 'true' needs 'topic', which names the topics to make: 'topic-pattern' "
            "does not."
        )


def check_topic_config(options: Options, given: Mapping[str, str]) -> None:
    """Refuse settings of a topic that nobody makes.

    Args:
        given: the statement's options as text.

    Raises:
        ConflictingOptionsError: there are some.
    """
    config = [key for key in given if key.startswith(opt.TOPIC_CONFIG_PREFIX)]
    if config and not options[opt.TOPIC_CREATE]:
        raise _without_creation(config[0])


def _without_creation(key: str) -> ConflictingOptionsError:
    return ConflictingOptionsError(
        f"Option '{key}' has no effect without '{opt.TOPIC_CREATE.key}' = 'true', which makes the topic."
    )


def _check_guarantee(options: Options) -> None:
    if options[opt.DELIVERY_GUARANTEE] == opt.EXACTLY_ONCE and not options.is_set(opt.TRANSACTIONAL_ID_PREFIX):
        raise MissingOptionError(
            f"{opt.TRANSACTIONAL_ID_PREFIX.key} must be specified when using DeliveryGuarantee.EXACTLY_ONCE (option "
            f"'{opt.DELIVERY_GUARANTEE.key}')."
        )
