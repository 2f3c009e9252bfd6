"""Records that cannot be read, where the table says that the query goes on: left out, and told of."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.types import Split
from kafka_sql.options import connector as opt
from kafka_sql.source.reader.bad_record_counters import count_bad_records
from kafka_sql.source.reader.dead_letters import write_dead_letters

_LOG = logging.getLogger("kafka_sql.source")
_TOLD: Final = 10  # errors of a split that are logged one by one


@dataclass
class BadRecordHandler:
    """What becomes of a split's records that cannot be read."""

    _definition: Definition
    _split: Split
    _count: int = field(default=0)

    @property
    def needs_whole_records(self) -> bool:
        """Whether it needs the whole records: keys, timestamps and headers, too."""
        return self._target is not None

    @property
    def _target(self) -> str | None:
        """The topic of dead letters."""
        return self._definition.options.get(opt.ERROR_TARGET)

    def handle(self, records: Records, bad: list[DecodeError]) -> None:
        """Tell of them, or write them into their topic; returns when they are safe there.

        Raises:
            BrokerError: they could not be written.
        """
        if not bad:
            return
        target = self._target
        if target is not None:
            dead = records.take(np.array([e.row for e in bad], np.int64))
            write_dead_letters(self._definition, target, dead, bad, self._split)
        elif self._definition.options[opt.ERROR_HANDLING] == opt.LOG:
            for error in bad[: max(0, _TOLD - self._count)]:
                _LOG.warning("table '%s': left out: %s", self._definition.name, error, extra=self._facts())
        self._count += len(bad)
        if not self._definition.has_error_column:
            count_bad_records(self._definition.accumulator_id, len(bad), dead=target is not None)

    def log_summary(self) -> None:
        """Say how many there were."""
        if self._count and not self._definition.has_error_column:
            _LOG.warning(
                "table '%s': %d records of %s[%d] from offset %d to %d could not be read and were %s",
                self._definition.name,
                self._count,
                self._split.topic,
                self._split.partition,
                self._split.start,
                self._split.stop,
                f"written to '{self._target}'" if self._target is not None else "left out",
                extra={**self._facts(), "offset": self._split.start},
            )

    def _facts(self) -> dict[str, str | int]:
        """For logs that are read by machines."""
        return {"table": self._definition.name, "topic": self._split.topic, "partition": self._split.partition}


@contextmanager
def bad_record_handler(definition: Definition, split: Split) -> Iterator[BadRecordHandler | None]:
    """What handles a split's bad records, for a ``with`` block; None where the first of them fails the query."""
    if definition.options[opt.ERROR_HANDLING] == opt.FAIL and not definition.has_error_column:
        yield None
        return
    handler = BadRecordHandler(definition, split)
    yield handler
    handler.log_summary()
