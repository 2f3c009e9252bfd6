"""A transaction's producer, and what its coordinator has been told of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.config.properties import TRANSACTION_TIMEOUT
from kafka_sql.kafka.delivery_errors import delivery_error, not_begun
from kafka_sql.kafka.direct.batch import Sender
from kafka_sql.kafka.direct.coordinator import Codes, Coordinator
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.protocol import produce, transaction_requests
from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.protocol.connection import Address
from kafka_sql.kafka.protocol.connection_pool import Brokers
from kafka_sql.kafka.protocol.errors import PASSING, Passing, complete


class Transaction:
    """One after another under an id. Answers are waited for when they are needed: rows are made meanwhile."""

    def __init__(self, config: Mapping[str, str], brokers: Brokers, id_: str, table: str | None = None) -> None:
        """Keep how to ask; ``begin``, or whatever needs the producer first, begins."""
        self._config, self._id = config, id_
        self._label = f"Table '{table}': " if table else ""
        self._coordinator = Coordinator(config, brokers, id_)
        self._sender: Sender | None = None
        self._told: set[tuple[str, int]] = set()
        self._awaited: Callable[[], None] | None = None

    def begin(self) -> None:
        """Ask for a producer's id: what is open under the transaction's is aborted."""
        request = produce.initialize(self._id, int(self._config[TRANSACTION_TIMEOUT]))
        self._awaited = self._begun(self._coordinator.begin(request, produce.read_initialize))

    def silent(self) -> bool:
        """Whether no answer is on its way."""
        return self._awaited is None

    def sender(self) -> Sender:
        """The producer; when it is known, and all partitions that were announced are."""
        if self._sender is None and self._awaited is None:
            self.begin()
        if self._awaited is not None:
            self._awaited()
            self._awaited = None
        assert self._sender is not None
        return self._sender

    def announce(self, topic: str, partitions: Collection[int]) -> None:
        """Tell of partitions that are going to be written to."""
        new = [partition for partition in sorted(partitions) if (topic, partition) not in self._told]
        if not new:
            return
        id_, epoch, _ = self.sender()

        def read(answer: Reader) -> Codes:
            """An error code and its partition: one that stays, if there is one."""
            codes = produce.read_partition_codes(answer)
            complete(codes, new)
            return max(((codes[one], one) for one in new), key=lambda found: (found[0] not in (0, *PASSING), *found))

        request = produce.add_partitions(self._id, id_, epoch, topic, new)
        self._awaited = self._added(topic, self._coordinator.begin(request, read))
        self._told.update((topic, partition) for partition in new)

    def enlist(self, topic: str, partitions: Collection[int]) -> None:
        """Return when partitions may be written to."""
        self.announce(topic, partitions)
        self.sender()

    def coordinator(self) -> Address | None:
        """Who answered last."""
        return self._coordinator.address

    def commit(self) -> None:
        """End it; what is announced next is another one's.

        Raises:
            WriterFencedError: a newer producer has this one's id.
            BrokerError: whether it was committed is not known.
        """
        id_, epoch, _ = self.sender()
        request = produce.end(self._id, id_, epoch, committed=True)
        (code,) = self._coordinator.ask(request, lambda answer: (transaction_requests.read_code(answer),))
        if code:
            raise delivery_error(code, f"{self._label}transaction '{self._id}'", "")
        self._told.clear()

    def abort(self) -> None:
        """As well as that can be done; else the brokers do it when its time is over."""
        if self._sender is None:
            return  # nothing has begun
        id_, epoch, _ = self._sender
        with contextlib.suppress(OSError, EOFError, Passing, BrokerError):
            self._coordinator.ask_once(
                produce.end(self._id, id_, epoch, committed=False), transaction_requests.read_code
            )

    def _begun(self, answer: Callable[[], Codes]) -> Callable[[], None]:
        def check() -> None:
            code, id_, epoch = answer()
            if code:
                raise not_begun(self._id, code, bindings.reason(code), self._config)
            self._sender = Sender(id_, epoch, self._id)

        return check

    def _added(self, topic: str, answer: Callable[[], Codes]) -> Callable[[], None]:
        def check() -> None:
            code, partition = answer()
            if code:
                where = f"{self._label}{topic}[{partition}]"
                raise delivery_error(code, where, f"Transaction '{self._id}'.")

        return check
