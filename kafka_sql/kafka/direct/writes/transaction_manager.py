"""Run the transactions of one transactional id: initialize the producer, add partitions, commit or abort."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.config.properties import TRANSACTION_TIMEOUT
from kafka_sql.kafka.delivery_errors import begin_transaction_error, delivery_error
from kafka_sql.kafka.direct.coordinator import Codes, Coordinator
from kafka_sql.kafka.direct.writes.batch import ProducerIdAndEpoch
from kafka_sql.kafka.error_codes import ErrorCode, error_text, is_retriable
from kafka_sql.kafka.protocol import transactions
from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.errors import RetriableError, check_complete
from kafka_sql.kafka.topic_partition import TopicPartition


class TransactionManager:
    """Run one transaction after another. Responses are awaited only when needed: rows are encoded meanwhile."""

    def __init__(
        self, config: Mapping[str, str], connections: ConnectionPool, transactional_id: str, table: str | None = None
    ) -> None:
        """Configure the transactions. ``begin``, or the first call that needs the producer id, sends the first request.

        Args:
            connections: for requests to the coordinator only.
        """
        self._config, self._id = config, transactional_id
        self._label = f"Table '{table}': " if table else ""
        self._coordinator = Coordinator(config, connections, transactional_id)
        self._producer: ProducerIdAndEpoch | None = None
        self._added: set[TopicPartition] = set()
        self._wait: Callable[[], None] | None = None  # waits for the outstanding response, and checks it

    def begin(self) -> None:
        """Request a producer id. The coordinator aborts the open transaction of the transactional id."""
        request = transactions.init_producer_id(self._id, int(self._config[TRANSACTION_TIMEOUT]))
        wait = self._coordinator.ask_async(request, transactions.read_init_producer_id)

        def check() -> None:
            code, producer_id, epoch = wait()
            if code != ErrorCode.NONE:
                raise begin_transaction_error(self._id, code, error_text(code), self._config)
            self._producer = ProducerIdAndEpoch(producer_id, epoch, self._id)

        self._wait = check

    def is_idle(self) -> bool:
        """Return whether no response is outstanding."""
        return self._wait is None

    def producer_id_and_epoch(self) -> ProducerIdAndEpoch:
        """Wait for the producer id and until all partitions are added. Return the producer's identity."""
        if self._producer is None and self._wait is None:
            self.begin()
        if self._wait is not None:
            self._wait()
            self._wait = None
        assert self._producer is not None
        return self._producer

    def add_partitions_async(self, topic: str, partitions: Collection[int]) -> None:
        """Add partitions to the transaction without waiting for the response."""
        new_partitions = [partition for partition in sorted(partitions) if (topic, partition) not in self._added]
        if not new_partitions:
            return
        producer_id, epoch, _ = self.producer_id_and_epoch()

        def read(response: Reader) -> Codes:
            codes = transactions.read_add_partitions_to_txn(response)
            check_complete(codes, new_partitions)
            return max(
                ((codes[partition], partition) for partition in new_partitions),
                key=lambda pair: (_severity(pair[0]), *pair),
            )

        request = transactions.add_partitions_to_txn(self._id, producer_id, epoch, topic, new_partitions)
        wait = self._coordinator.ask_async(request, read)

        def check() -> None:
            code, partition = wait()
            if code != ErrorCode.NONE:
                where = f"{self._label}{topic}[{partition}]"
                raise delivery_error(code, where, f"Transaction '{self._id}'.", topic=topic, partition=partition)

        self._wait = check
        self._added.update((topic, partition) for partition in new_partitions)

    def add_partitions(self, topic: str, partitions: Collection[int]) -> None:
        """Add partitions to the transaction, and return when they may be written to."""
        self.add_partitions_async(topic, partitions)
        self.producer_id_and_epoch()

    def coordinator(self) -> Address | None:
        """Return the address of the coordinator that responded last."""
        return self._coordinator.address

    def commit(self) -> None:
        """Commit the transaction. Partitions added from now on belong to the next one.

        Raises:
            WriterFencedError: a newer producer uses the transactional id.
            BrokerError: the transaction may or may not be committed.
        """
        producer_id, epoch, _ = self.producer_id_and_epoch()
        request = transactions.end_txn(self._id, producer_id, epoch, committed=True)
        (code,) = self._coordinator.ask(request, lambda response: (transactions.read_end_txn(response),))
        if code != ErrorCode.NONE:
            raise delivery_error(code, f"{self._label}transaction '{self._id}'", "")
        self._added.clear()

    def abort(self) -> None:
        """Abort the transaction if the coordinator responds; else the brokers abort it after its timeout."""
        if self._producer is None:
            return  # not begun
        producer_id, epoch, _ = self._producer
        with contextlib.suppress(OSError, EOFError, RetriableError, BrokerError):
            request = transactions.end_txn(self._id, producer_id, epoch, committed=False)
            self._coordinator.ask_once(request, transactions.read_end_txn)

    def fence(self) -> None:
        """Abort the transaction while batches are in flight, if the coordinator responds.

        EndTxn could overtake the batches: one that arrives after the abort marker opens a transaction that is never
        ended. Brokers before 3.6, and those that do not verify partitions, accept it (KIP-890). This request increments
        the epoch, so that they reject it. Brokers without it (before 2.5) abort the transaction after its timeout.
        """
        if self._producer is None:
            return  # not begun
        timeout = int(self._config[TRANSACTION_TIMEOUT])
        current = transactions.TransactionDescription("", *self._producer[:2], timeout, -1, ())
        with contextlib.suppress(OSError, EOFError, RetriableError, BrokerError):
            request = transactions.bump_producer_epoch(self._id, current)
            self._coordinator.ask_once(request, transactions.read_init_producer_id)


def _severity(code: int) -> int:
    """Order the error codes of one response to AddPartitionsToTxn: the cause is worse than its consequences."""
    if code == ErrorCode.NONE:
        return 0
    if code == ErrorCode.OPERATION_NOT_ATTEMPTED:  # because of another partition's error
        return 1
    return 2 if is_retriable(code, ApiKey.ADD_PARTITIONS_TO_TXN) else 3
