"""Who writes the record of decisions (``decision_log``): the newest writer of a transactional id, and no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from kafka_sql.errors import AuthorizationError, BrokerError, TransactionError, WriterFencedError
from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT, SOCKET_TIMEOUT, TRANSACTION_TIMEOUT
from kafka_sql.kafka.decision_log import LOG_TOPIC
from kafka_sql.kafka.direct.batch import small
from kafka_sql.kafka.direct.producer_state import Session
from kafka_sql.kafka.direct.sender import Deliverer
from kafka_sql.kafka.direct.transaction_manager import Transaction
from kafka_sql.kafka.librdkafka.client import patience
from kafka_sql.kafka.protocol.connection_pool import Brokers, patiently

_TIMEOUT_MS: Final = 30_000  # of a writer's transaction: a dead one holds readers of the log up no longer


class Fenced(Exception):
    """A newer writer has ended this one."""


class LogWriter:
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
        self._leaders, self._coordinators = Brokers(self._config), Brokers(self._config)
        self._transaction: Transaction | None = None
        self._delivery: Deliverer | None = None
        self._sequence = 0

    def close(self) -> None:
        """Close the connections."""
        self._leaders.close()
        self._coordinators.close()

    def fence(self) -> None:
        """End all older writers, whose open transactions are aborted.

        Raises:
            BrokerError: the brokers refuse or do not answer.
        """
        with self._named("could not be begun"):
            servers, brokers = f"'{self._config['bootstrap.servers']}'", self._coordinators
            patiently(brokers.any, brokers.close, patience(self._config), servers)
            self._transaction = Transaction(self._config, brokers, self._id)
            self._transaction.sender()
            self._delivery, self._sequence = None, 0

    def ahead(self) -> None:
        """Tell the coordinator that something is going to be written, and do not wait for its answer.

        Raises:
            BrokerError: it cannot be asked.
        """
        assert self._transaction is not None
        with self._named("could not be written"):
            self._renew()
            self._transaction.announce(LOG_TOPIC, [0])

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
            if brokers.login_changed():
                brokers.close()

    def _written(self, records: Mapping[str, bytes | None]) -> None:
        assert self._transaction is not None
        transaction = self._transaction
        transaction.announce(LOG_TOPIC, [0])
        if self._delivery is None:
            self._delivery = Deliverer(Session(self._config, self._leaders, transaction.sender), LOG_TOPIC, "")
        self._delivery.send([small(0, records, transaction.sender(), self._sequence)])
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
            raise Fenced(self._id) from e
        except BrokerError as e:
            kind = AuthorizationError if isinstance(e, AuthorizationError) else TransactionError
            raise kind(
                f"The record of decisions (topic '{LOG_TOPIC}', transactional id '{self._id}') {what}: {e.args[0]} "
                "Exactly-once needs WRITE and DESCRIBE on the transactional ids that begin with "
                "'sink.transactional-id-prefix', and READ, WRITE and DESCRIBE on the topic."
            ) from e
