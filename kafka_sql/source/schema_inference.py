"""Infer the columns of a table that declares none, from the schemas of its formats or from a sample of its records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from kafka_sql.definition import Definition, validate_without_columns
from kafka_sql.errors import ConflictingOptionsError, DecodeError, SchemaError
from kafka_sql.formats.format import ColumnTypes, InferredSchema
from kafka_sql.formats.payload import Payload
from kafka_sql.kafka.admin.cluster import cached_cluster
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.records import BatchSize, RecordFields, Records
from kafka_sql.kafka.split import Split
from kafka_sql.options import connector as opt
from kafka_sql.options.string_lists import join_list
from kafka_sql.source.enumerator.partitions import list_partitions
from kafka_sql.source.enumerator.starting_offsets import effective_startup_mode
from kafka_sql.table.table import Table

MAX_RECORDS: Final = 1_000
_MAX_PARTITIONS: Final = 100  # without the empty ones
_MAX_BYTES: Final = 16 << 20
_SECONDS: Final = 10.0  # after which no other partition is read


def infer_columns(table: Table) -> InferredSchema | None:
    """Infer the columns of a table from its formats: first the key's columns, then the value's.

    The inferred options of a 'kafka' table include 'key.fields' with the key's columns. Options that the statement sets
    take precedence. If the value lacks a key column, 'value.fields-include' is 'EXCEPT_KEY'.

    Args:
        table: without physical columns.

    Returns:
        None if the value's format cannot infer columns.

    Raises:
        OptionError: an invalid option.
        SchemaRegistryError, SchemaError: the format could not infer its columns.
        DecodeError: a record is not of the format.
        BrokerError: the records are unavailable.
    """
    definition = validate_without_columns(table)
    key, value = definition.key, definition.value

    @cache
    def sample() -> Sample:
        return read_sample(definition)

    inferred = _infer_payload(definition, value, "value", sample)
    if inferred is None:
        return None
    columns = dict(inferred.columns)
    options = {value.prefix + k: v for k, v in inferred.options.items()}
    inferred_key = _infer_payload(definition, key, "key", sample) if key is not None else None
    if key is not None and inferred_key is not None:
        declared = (table.primary_key if definition.is_upsert else definition.options.get(opt.KEY_FIELDS)) or ()
        key_columns = _name_key_columns(definition, key, inferred_key.columns, declared)
        if key.format.infer_schema is None or value.format.infer_schema is None:  # readers convert types of schemas
            _check_shared_columns(definition, key_columns, columns, key.format.has_field_names or bool(declared))
        key_names = [name for name, _ in key_columns]
        options |= {key.prefix + k: v for k, v in inferred_key.options.items()}
        if not definition.is_upsert:
            options[opt.KEY_FIELDS.key] = join_list(key_names)
        if not columns.keys() >= set(key_names):
            options[opt.VALUE_FIELDS_INCLUDE.key] = opt.EXCEPT_KEY
        columns = {**dict(key_columns), **{name: t for name, t in columns.items() if name not in key_names}}
    return InferredSchema(tuple(columns.items()), options)


def _infer_payload(
    definition: Definition, payload: Payload, part: str, sample: Callable[[], Sample]
) -> InferredSchema | None:
    """Return the columns of a payload's schema or, without one, of the sampled payloads; None without either.

    Args:
        part: "key" or "value"; also the name of a column whose format has no names.
    """
    format_ = payload.format
    if format_.infer_schema is not None:
        return format_.infer_schema(payload.options)
    if format_.infer_from_payloads is None:
        return None
    payloads: list[tuple[str, bytes]] = []
    records = sample()
    for position, sampled in zip(records.positions, records.keys if part == "key" else records.values, strict=True):
        if sampled is not None:
            payloads.append((position if part == "value" else f"{position} (key)", sampled))
    errors: list[DecodeError] | None = None if definition.options[opt.ERROR_HANDLING] == opt.FAIL else []
    try:
        columns = format_.infer_from_payloads([sampled for _, sampled in payloads], payload.options, errors)
    except DecodeError as e:
        raise e.with_location(payloads[e.row][0]) from e
    if not columns:
        raise SchemaError(
            f"The columns of table '{definition.name}' cannot be inferred: {_describe_topics(definition)} has no "
            f"records with a {part} in the format '{format_.identifier}'. Declare the columns, or write records first.",
            table=definition.name,
        )
    return InferredSchema(tuple((name or part, type) for name, type in columns))


def _describe_topics(definition: Definition) -> str:
    topics = opt.topics(definition.options)
    if topics is None:
        pattern = definition.options.get(opt.TOPIC_PATTERN)
        return f"the pattern '{pattern}'"
    return ", ".join(f"topic '{topic}'" for topic in topics)


def _name_key_columns(
    definition: Definition, key: Payload, columns: ColumnTypes, declared: Sequence[str]
) -> ColumnTypes:
    """Return the key's columns with their names in the table.

    Args:
        declared: the key columns that the statement names: only these are columns of the table, and fields without
            names get these names.
    """
    if not key.format.has_field_names and len(declared) == len(columns):
        return tuple(zip(declared, (type for _, type in columns), strict=True))
    prefix = definition.options.get(opt.KEY_FIELDS_PREFIX) or ""
    return tuple((prefix + name, type) for name, type in columns if not declared or prefix + name in declared)


def _check_shared_columns(
    definition: Definition, key_columns: ColumnTypes, columns: Mapping[str, str], is_named: bool
) -> None:
    """Reject a key column whose name in the value is that of another column.

    Args:
        is_named: whether the records or the statement name the key's columns.
    """
    for name, type in key_columns:
        other = columns.get(name, type)
        if (is_named or name not in columns) and type.removesuffix(" NOT NULL") == other.removesuffix(" NOT NULL"):
            continue
        raise ConflictingOptionsError(
            f"Table '{definition.name}': the key and the value of its records both have a column '{name}', of types "
            f"{type} and {other}. Set '{opt.KEY_FIELDS_PREFIX.key}', for example to 'key_', or declare the columns.",
            table=definition.name,
            option=opt.KEY_FIELDS_PREFIX.key,
        )


@dataclass
class Sample:
    """Records of a table."""

    positions: list[str] = field(default_factory=list)  # ``topic[partition]@offset`` of each record
    keys: list[bytes | None] = field(default_factory=list)  # None for a record without one
    values: list[bytes | None] = field(default_factory=list)  # None for a record without one

    def add(self, split: Split, records: Records) -> int:
        """Append records of a split; return the size of their payloads in bytes."""
        assert records.keys is not None
        self.positions += [split.describe_offset(offset) for offset in records.offsets.tolist()]
        self.keys += records.keys.to_pylist()
        self.values += records.values.to_pylist()
        return int(records.keys.nbytes + records.values.nbytes)


def read_sample(definition: Definition) -> Sample:
    """Read the newest records of all partitions, in equal shares; if the table starts at 'earliest-offset', half of
    them are the oldest ones.

    If the newest offsets have no records, because they are markers of transactions or were compacted, the oldest
    records are read.

    Raises:
        BrokerError: the cluster, a topic or the records are unavailable.
    """
    with cached_cluster(definition.client_config) as cluster:
        partitions = list_partitions(definition, cluster)
        starts, stops = cluster.earliest(partitions), cluster.latest(partitions)
    ranges = [Split(*p, starts[p], stops[p]) for p in partitions if starts[p] < stops[p]][:_MAX_PARTITIONS]
    from_earliest = effective_startup_mode(definition) == opt.EARLIEST
    count = max(1, MAX_RECORDS // max(1, len(ranges) * (1 + from_earliest)))
    newest = [Split(s.topic, s.partition, max(s.start, s.stop - count), s.stop) for s in ranges]
    sample = Sample()
    if from_earliest:
        _read(definition, ranges, count, sample)
    _read(definition, newest, count, sample)
    if not sample.positions:
        _read(definition, ranges, count, sample)
    return sample


def _read(definition: Definition, splits: list[Split], count: int, sample: Sample) -> None:
    """Add the first records of each split to the sample, until the limits of time or size are reached."""
    deadline, size = time.monotonic() + _SECONDS, 0
    for split in splits:
        for records in _first_records(definition, split, count):
            size += sample.add(split, records)
        if sample.positions and (size > _MAX_BYTES or time.monotonic() > deadline):
            return


def _first_records(definition: Definition, split: Split, count: int) -> Iterator[Records]:
    remaining = count
    batches = read_records(
        definition.client_config,
        split,
        RecordFields(keys=True),
        BatchSize(count, _MAX_BYTES),
        lambda *_: None,  # records that were deleted in the meantime are not needed
        definition.options[opt.SCAN_CLIENT],
    )
    with closing(batches):  # type: ignore[type-var]
        for records in batches:
            yield records
            remaining -= len(records.offsets)
            if remaining <= 0:
                return
