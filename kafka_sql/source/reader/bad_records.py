"""Handle undecodable records as 'error-handling.mode' says: skip, log, or write them to a dead letter topic."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.formats.payload import Payload
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.split import Split
from kafka_sql.options import connector as opt
from kafka_sql.source.reader.dead_letters import DeadLetterTopic, DeadLetterWriter
from kafka_sql.source.reader.record_counters import count_bad_records
from kafka_sql.source.table_log import warn

_LOG = logging.getLogger("kafka_sql.source")
_MAX_LOGGED: Final = 10  # errors of a split that are logged individually
_MODE: Final = f"'{opt.ERROR_HANDLING.key}' = '{opt.IGNORE}' or '{opt.LOG}'"
TO_TOLERATE: Final = f"to tolerate such records, set {_MODE}"


def describe_tolerance(payload: Payload) -> str:
    """Return advice for an error of a key or a value: which options make a query continue."""
    keys = {option.key.removeprefix(f"{payload.format.identifier}."): option for option in payload.format.options}
    ignore, strict = keys.get("ignore-parse-errors"), keys.get("fail-on-missing-field")
    if ignore is None or payload.options[ignore] or (strict is not None and payload.options[strict]):
        return TO_TOLERATE
    return f"to tolerate such records, set '{payload.prefix}{ignore.key}' = 'true', or {_MODE}"


@dataclass
class BadRecordHandler:
    """Handles the undecodable records of one split. Without a writer, it writes no dead letters."""

    _definition: Definition
    _split: Split
    _writer: DeadLetterWriter | None = None
    _count: int = 0

    @property
    def needs_whole_records(self) -> bool:
        """Whether the handler needs the records' keys, timestamps and headers."""
        return self._writer is not None

    def handle(self, records: Records, errors: list[DecodeError]) -> None:
        """Count and log the records, or write them to the dead letter topic and wait for the acknowledgments.

        Args:
            errors: one per undecodable record; ``row`` is the record's index in ``records``.

        Raises:
            BrokerError: the dead letters could not be written.
        """
        if not errors:
            return
        if self._writer is not None:
            self._writer.write(records.take(np.array([e.row for e in errors], np.int64)), errors)
        elif self._definition.options[opt.ERROR_HANDLING] == opt.LOG:
            for error in errors[: max(0, _MAX_LOGGED - self._count)]:
                warn(self._definition.name, "skipped a record: %s", error, **self._log_fields)
        self._count += len(errors)
        if not self._definition.has_error_column:
            count_bad_records(self._definition.accumulator_id, len(errors), dead_lettered=self._writer is not None)

    def log_summary(self) -> None:
        """Log how many records of the split could not be decoded."""
        if self._count and not self._definition.has_error_column:
            warn(
                self._definition.name,
                "%d records of %s[%d] between offsets %d and %d could not be decoded and were %s",
                self._count,
                self._split.qualified_topic,
                self._split.partition,
                self._split.start,
                self._split.stop,
                self._describe_outcome(),
                **self._log_fields,
                offset=self._split.start,
            )

    def _describe_outcome(self) -> str:
        if self._writer is not None:
            return f"written to '{self._writer.topic.name}'"
        name = self._definition.options.get(opt.ERROR_TARGET)
        if name is None:
            return "skipped"
        hint = f"/*+ OPTIONS('{opt.ERROR_TARGET.key}' = '{name}') */"
        return f"skipped. A batch read writes no dead letters, except with the hint {hint}"

    @property
    def _log_fields(self) -> dict[str, str | int]:
        return {"topic": self._split.qualified_topic, "partition": self._split.partition}


@contextmanager
def bad_record_handler(
    definition: Definition, split: Split, dead_letter_topic: DeadLetterTopic | None = None
) -> Iterator[BadRecordHandler | None]:
    """Provide the handler of a split's undecodable records; None if the first one fails the query."""
    if definition.options[opt.ERROR_HANDLING] == opt.FAIL and not definition.has_error_column:
        yield None
        return
    writer = DeadLetterWriter(definition, split, dead_letter_topic) if dead_letter_topic is not None else None
    handler = BadRecordHandler(definition, split, writer)
    yield handler
    handler.log_summary()
