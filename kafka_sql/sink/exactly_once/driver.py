"""Spark's driver and the committer: which one a batch belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_sql.definition import Definition
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once.committer import Committer, abort_attempt
from kafka_sql.sink.exactly_once.records import Prepared, Writer

# Spark keeps one process for the commits of a query; its claim of the prefix and its connections stay with it
_committers: dict[tuple[str, str], Committer] = {}


def commit(definition: Definition, messages: Sequence[Any]) -> None:
    """Commit what all tasks of a write have prepared.

    Raises:
        TransactionError: as ``Committer.commit``.
        BrokerError: the brokers do not answer.
    """
    prepared = [m for m in messages if isinstance(m, Prepared)]
    if not prepared:
        return
    first, topics = prepared[0], opt.topics(definition.options) or ()
    writer = Writer(
        definition.name,
        definition.options[opt.TRANSACTIONAL_ID_PREFIX],
        ";".join(topics),
        first.run,
        first.query,
    )
    key = definition.client["bootstrap.servers"], writer.prefix
    committer = _committers.get(key)
    if committer is None or committer.writer != writer:
        if committer is not None:
            committer.close()
        committer = _committers[key] = Committer(definition.client, writer)
    try:
        committer.commit(first.batch, prepared)
    except BaseException:
        _committers.pop(key).close()
        raise
    if first.query is None:
        _committers.pop(key).close()


def abort(definition: Definition, messages: Sequence[Any]) -> None:
    """Abort what the tasks of a failed write have prepared."""
    abort_attempt(definition.client, [m if isinstance(m, Prepared) else None for m in messages])
