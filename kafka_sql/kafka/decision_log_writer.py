"""Append to the decision log (``decision_log``). Only the newest writer of a transactional id can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from kafka_sql.errors import AuthorizationError, BrokerError, TransactionError, WriterFencedError
from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, SOCKET_TIMEOUT, TRANSACTION_TIMEOUT
from kafka_sql.kafka.decision_log import LOG_TOPIC
from kafka_sql.kafka.direct.writes.batch import small_batch
from kafka_sql.kafka.direct.writes.producer_state import ProducerState
from kafka_sql.kafka.direct.writes.sender import Sender
from kafka_sql.kafka.direct.writes.transaction_manager import TransactionManager
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool

_TIMEOUT_MS: Final = 30_000  # for a transaction: a dead writer delays readers of the log for this time at most


class LogWriterFenced(Exception):
    """A newer writer has fenced this one."""


class DecisionLogWriter:
    """A writer of the log with one transactional id."""

    def __init__(self, config: Mapping[str, str], transactional_id: str) -> None:
        """Configure the writer. This sends no request."""
        timeouts = {
            TRANSACTION_TIMEOUT: str(_TIMEOUT_MS),
            DELIVERY_TIMEOUT: str(_TIMEOUT_MS),
            # a silent connection is closed early enough to try another one
            SOCKET_TIMEOUT: str(min(int(config[SOCKET_TIMEOUT]), _TIMEOUT_MS // 3)),
        }
        self._config, self._id = {**config, **timeouts}, transactional_id
        # separate pools: a response of a coordinator must not wait for one of a leader
        self._leaders, self._coordinators, self._any_broker = (ConnectionPool(self._config) for _ in range(3))
        self._transaction: TransactionManager | None = None
        self._sender: Sender | None = None

    def close(self) -> None:
        """Close the connections."""
        for brokers in self._pools():
            brokers.close()

    def fence_older_writers(self) -> None:
        """Fence all older writers and abort their open transactions.

        Raises:
            BrokerError: the brokers return an error or do not respond.
        """
        with self._translate_errors("cannot be opened"):
            self._transaction = TransactionManager(self._config, self._coordinators, self._id)
            self._transaction.producer_id_and_epoch()
            self._sender = None

    def announce_write(self) -> None:
        """Announce to the coordinator that records will be written, without waiting for its response.

        Raises:
            BrokerError: the request cannot be sent.
        """
        assert self._transaction is not None
        with self._translate_errors("cannot be written"):
            self._reconnect_if_credentials_changed()
            self._transaction.add_partitions_async(LOG_TOPIC, [0])

    def write(self, records: Mapping[str, bytes | None]) -> None:
        """Write all of the records atomically and durably.

        Args:
            records: values by key; None deletes a key.

        Raises:
            LogWriterFenced: a newer writer has fenced this one.
            BrokerError: another failure. After both, the records may have been written or not; to find out, call
                ``fence_older_writers`` and then ``read_decisions``.
        """
        if not records:
            return
        with self._translate_errors("cannot be written"):
            self._reconnect_if_credentials_changed()
            self._write_transaction(records)

    def _pools(self) -> tuple[ConnectionPool, ...]:
        return self._leaders, self._coordinators, self._any_broker

    def _reconnect_if_credentials_changed(self) -> None:
        for brokers in self._pools():
            if brokers.credentials_changed():
                brokers.close()

    def _write_transaction(self, records: Mapping[str, bytes | None]) -> None:
        assert self._transaction is not None
        transaction = self._transaction
        transaction.add_partitions_async(LOG_TOPIC, [0])
        if self._sender is None:
            state = ProducerState(self._config, self._leaders, self._any_broker, transaction)
            self._sender = Sender(state, "")
            self._sender.partition_count(LOG_TOPIC)  # requests its leader
        self._sender.send([small_batch(LOG_TOPIC, 0, records)])
        self._sender.flush()
        transaction.commit()

    @contextmanager
    def _translate_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except WriterFencedError as e:
            raise LogWriterFenced(self._id) from e
        except BrokerError as e:
            error_type = AuthorizationError if isinstance(e, AuthorizationError) else TransactionError
            raise error_type(
                f"The decision log (topic '{LOG_TOPIC}', transactional id '{self._id}') {what}: {e.args[0]} "
                "Exactly-once requires WRITE and DESCRIBE on the transactional ids that start with "
                "'sink.transactional-id-prefix', and READ, WRITE and DESCRIBE on the topic."
            ) from e
