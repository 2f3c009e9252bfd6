"""Route commits and aborts of Spark's driver to the committer of the table's transactional id prefix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_sql.definition import Definition
from kafka_sql.kafka.decision_log import read_committed_decisions
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once.committer import Committer, abort_failed_job
from kafka_sql.sink.exactly_once.ownership import new_checkpoint_error
from kafka_sql.sink.exactly_once.records import PreparedTransaction, Writer

# Spark commits all batches of a query in one process, which keeps its claim of the prefix and its connections
_committers: dict[tuple[str, str], Committer] = {}


def commit(definition: Definition, messages: Sequence[Any]) -> None:
    """Commit the transactions that the tasks of a write have prepared.

    Raises:
        TransactionError: see ``Committer.commit``.
    """
    prepared = [m for m in messages if isinstance(m, PreparedTransaction)]
    if not prepared:
        return
    message = prepared[0]  # run, query and batch are the same in all messages
    writer = _writer(definition, message.run, message.query)
    key = definition.client_config["bootstrap.servers"], writer.prefix
    committer = _committers.get(key)
    if committer is None or committer.writer != writer:
        if committer is not None:
            committer.close()
        committer = _committers[key] = Committer(definition.client_config, writer)
    try:
        committer.commit(message.batch, prepared)
    except BaseException:
        _committers.pop(key).close()
        raise
    if message.query is None:
        _committers.pop(key).close()


def check_query(definition: Definition, query: str | None) -> None:
    """Check before a continuous query starts that its checkpoint is the one with which the topics were written.

    Args:
        query: the id of the query in its checkpoint; None if the checkpoint is new.

    Raises:
        CheckpointError: another query has written the topics under the prefix, see ``ownership.new_checkpoint_error``.
        BrokerError: the decision log cannot be read.
    """
    writer = _writer(definition, "", query or "")
    if writer.allows_new_checkpoint:
        return
    error = new_checkpoint_error(read_committed_decisions(definition.client_config), writer)
    if error is not None:
        raise error


def _writer(definition: Definition, run: str, query: str | None) -> Writer:
    topics = opt.topics(definition.options) or ()
    prefix = definition.options[opt.TRANSACTIONAL_ID_PREFIX]
    allows_new_checkpoint = definition.options[opt.ALLOW_NEW_CHECKPOINT]
    return Writer(definition.name, prefix, ";".join(topics), run, query, allows_new_checkpoint)


def abort(definition: Definition, messages: Sequence[Any]) -> None:
    """Abort the transactions that the tasks of a failed write have prepared."""
    abort_failed_job(definition.client_config, [m if isinstance(m, PreparedTransaction) else None for m in messages])
