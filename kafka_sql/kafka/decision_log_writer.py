"""Who writes the record of decisions (``decision_log``): the newest writer of a transactional id, and no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from kafka_sql.errors import AuthorizationError, BrokerError, TransactionError, WriterFencedError
from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, SOCKET_TIMEOUT, TRANSACTION_TIMEOUT, connect_timeout
from kafka_sql.kafka.decision_log import LOG_TOPIC
from kafka_sql.kafka.direct.batch import small_batch
from kafka_sql.kafka.direct.producer_state import ProducerState
from kafka_sql.kafka.direct.sender import Sender
from kafka_sql.kafka.direct.transaction_manager import TransactionManager
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool, retry_until

_TIMEOUT_MS: Final = 30_000  # of a writer's transaction: a dead one holds readers of the log up no longer


class LogWriterFenced(Exception):
    """A newer writer has ended this one."""


class DecisionLogWriter:
    """A writer of the log under one transactional id."""

    def __init__(self, config: Mapping[str, str], transactional_id: str) -> None:
        """Keep how to connect; nothing is asked yet.

        Args:
            config: librdkafka's, with references to secrets, which are resolved where a connection is made.
        """
        limits = {
            TRANSACTION_TIMEOUT: str(_TIMEOUT_MS),
            DELIVERY_TIMEOUT: str(_TIMEOUT_MS),
            # a silent connection is given up while there is time for another one
            SOCKET_TIMEOUT: str(min(int(config[SOCKET_TIMEOUT]), _TIMEOUT_MS // 3)),
        }
        self._config, self._id = {**config, **limits}, transactional_id
        # of their own: an answer must not wait behind another's
        self._leaders, self._coordinators = ConnectionPool(self._config), ConnectionPool(self._config)
        self._transaction: TransactionManager | None = None
        self._delivery: Sender | None = None
        self._sequence = 0

    def close(self) -> None:
        """Close the connections."""
        self._leaders.close()
        self._coordinators.close()

    def fence_older_writers(self) -> None:
        """End all older writers, whose open transactions are aborted.

        Raises:
            BrokerError: the brokers refuse or do not answer.
        """
        with self._named("could not be begun"):
            servers, brokers = f"'{self._config['bootstrap.servers']}'", self._coordinators
            retry_until(brokers.any_connection, brokers.close, connect_timeout(self._config), servers)
            self._transaction = TransactionManager(self._config, brokers, self._id)
            self._transaction.producer_id_and_epoch()
            self._delivery, self._sequence = None, 0

    def announce_write(self) -> None:
        """Tell the coordinator that something is going to be written, and do not wait for its answer.

        Raises:
            BrokerError: it cannot be asked.
        """
        assert self._transaction is not None
        with self._named("could not be written"):
            self._renew()
            self._transaction.add_partitions_async(LOG_TOPIC, [0])

    def write(self, records: Mapping[str, bytes | None]) -> None:
        """All of the records or none, durably; None deletes a key.

        Raises:
            Fenced: a newer writer has fenced this one.
            BrokerError: as with Fenced, whether they were written is known to ``read_log`` alone, after a ``fence``.
        """
        if not records:
            return
        with self._named("could not be written"):
            self._renew()
            self._written(records)
            self._commit()

    def _renew(self) -> None:
        for brokers in (self._leaders, self._coordinators):
            if brokers.credentials_changed():
                brokers.close()

    def _written(self, records: Mapping[str, bytes | None]) -> None:
        assert self._transaction is not None
        transaction = self._transaction
        transaction.add_partitions_async(LOG_TOPIC, [0])
        if self._delivery is None:
            self._delivery = Sender(
                ProducerState(self._config, self._leaders, transaction.producer_id_and_epoch), LOG_TOPIC, ""
            )
        self._delivery.send([small_batch(0, records, transaction.producer_id_and_epoch(), self._sequence)])
        self._sequence += len(records)
        self._delivery.flush()

    def _commit(self) -> None:
        assert self._transaction is not None
        self._transaction.commit()

    @contextmanager
    def _named(self, what: str) -> Iterator[None]:
        try:
            yield
        except WriterFencedError as e:
            raise LogWriterFenced(self._id) from e
        except BrokerError as e:
            kind = AuthorizationError if isinstance(e, AuthorizationError) else TransactionError
            raise kind(
                f"The record of decisions (topic '{LOG_TOPIC}', transactional id '{self._id}') {what}: {e.args[0]} "
                "Exactly-once needs WRITE and DESCRIBE on the transactional ids that begin with "
                "'sink.transactional-id-prefix', and READ, WRITE and DESCRIBE on the topic."
            ) from e
