"""What Spark's driver does for exactly-once writes: check timeouts before a query starts, commit and abort batches."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import closing
from typing import Any, Final

from kafka_sql.definition import Definition
from kafka_sql.errors import BrokerError, InvalidOptionError
from kafka_sql.kafka.admin.descriptions import broker_setting
from kafka_sql.kafka.config.properties import TRANSACTION_TIMEOUT
from kafka_sql.kafka.decision_log import read_committed_decisions
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once.committer import Committer
from kafka_sql.sink.exactly_once.end_transactions import abort_all
from kafka_sql.sink.exactly_once.ownership import new_checkpoint_error
from kafka_sql.sink.exactly_once.records import PreparedTransaction, Writer

# Spark commits all batches of a query in one process, which keeps its claim of the prefix and its connections
_committers: dict[tuple[str, str], Committer] = {}
_LOG = logging.getLogger("kafka_sql.sink")
_OPTION: Final = f"properties.{TRANSACTION_TIMEOUT}"
_MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
_DEFAULT_MAX_TIMEOUT: Final = 900_000  # milliseconds: Kafka's default
_broker_limits: dict[str, int | None] = {}  # by bootstrap servers; None if unknown


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
    """Abort the transactions that the tasks of a failed write have prepared. No other writer is fenced.

    If all tasks succeeded, the driver may already have decided, so nothing is aborted.
    """
    prepared = [m for m in messages if isinstance(m, PreparedTransaction)]
    ids = [m.transaction for m in prepared if m.transaction is not None]
    if not ids or len(prepared) == len(messages):
        return
    with closing(TransactionAdmin(definition.client_config)) as transactions:
        try:
            abort_all(transactions, ids)
        except BrokerError as e:
            _LOG.warning("transactions stay open until the next start: %s", e)


def transaction_timeout(definition: Definition) -> int:
    """Return the transaction timeout in milliseconds: the option, or else the brokers' limit, at most 15 minutes.

    Raises:
        InvalidOptionError: the option exceeds the brokers' limit.
        UnsupportedVersionError: the brokers do not support a request that exactly-once needs.
        BrokerError: librdkafka rejects the configuration, or no broker responded.
    """
    limit = _broker_limit(definition)
    if TRANSACTION_TIMEOUT not in definition.client_config:
        return min(limit or _DEFAULT_MAX_TIMEOUT, _DEFAULT_MAX_TIMEOUT)
    timeout = int(definition.client_config[TRANSACTION_TIMEOUT])
    if limit is not None and timeout > limit:
        raise InvalidOptionError(
            f"Table '{definition.name}': option '{_OPTION}' = '{timeout}' exceeds the brokers' '{_MAX_TIMEOUT}' = "
            f"'{limit}'. Lower it, raise the brokers' limit, or remove the option to use the limit.",
            table=definition.name,
            option=_OPTION,
        )
    return timeout


def check_trigger_interval(definition: Definition, interval: int) -> None:
    """Check that the transaction timeout is not shorter than the trigger interval, which a batch may take.

    Args:
        interval: trigger interval in milliseconds.

    Raises:
        InvalidOptionError: the option is set, and shorter than the interval.
    """
    timeout = definition.client_config.get(TRANSACTION_TIMEOUT)
    if timeout is not None and int(timeout) < interval:
        raise InvalidOptionError(
            f"Table '{definition.name}': option '{_OPTION}' = '{timeout}' is less than "
            f"'execution.checkpointing.interval' = '{interval} ms', so the brokers could abort a batch that "
            "takes the whole interval. Raise the option, or remove it to use the brokers' limit.",
            table=definition.name,
            option=_OPTION,
        )


def _broker_limit(definition: Definition) -> int | None:
    servers = definition.client_config["bootstrap.servers"]
    if servers not in _broker_limits:
        text = broker_setting(definition.client_config, _MAX_TIMEOUT)
        with closing(TransactionAdmin(definition.client_config)) as client:
            client.require_support()
        _broker_limits[servers] = int(text) if text is not None else None
    return _broker_limits[servers]
