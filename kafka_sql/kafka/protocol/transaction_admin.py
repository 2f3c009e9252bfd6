"""Transactions of producers that are gone: who knows of them, in which state they are, and how they end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

from kafka_sql.errors import TransactionError
from kafka_sql.kafka.config.properties import DELIVERY_TIMEOUT
from kafka_sql.kafka.protocol import transaction_outcome, transaction_requests
from kafka_sql.kafka.protocol.connection import Address, Connection
from kafka_sql.kafka.protocol.connection_pool import Brokers, patiently
from kafka_sql.kafka.protocol.errors import OLDEST, PASSING, Passing, complete, fine, require
from kafka_sql.kafka.protocol.sasl import check_sasl
from kafka_sql.kafka.protocol.tls import check_tls
from kafka_sql.kafka.protocol.transaction_outcome import Outcome
from kafka_sql.kafka.protocol.transaction_requests import Described
from kafka_sql.kafka.types import TopicPartition

T = TypeVar("T")

_FENCED: Final = frozenset({0, 47, 90})
UNKNOWN_ID: Final = 105
_NOT_ALLOWED: Final = 53
_OUT_OF_RANGE: Final = 1


class Ending(NamedTuple):
    """What it takes to end a transaction."""

    id: str
    producer: int
    epoch: int


def check_security(config: Mapping[str, str]) -> None:
    """Refuse security settings that this client could not honour as librdkafka does.

    Raises:
        InvalidOptionError: names the option.
    """
    protocol = config.get("security.protocol", "plaintext").lower()
    if protocol in ("ssl", "sasl_ssl"):
        check_tls(config)
    if protocol.startswith("sasl"):
        check_sasl(config)


class Hint(NamedTuple):
    """What whoever ends a transaction need not ask the brokers for.

    Attributes:
        coordinator: its coordinator's address.
        first: topic, partition and offset of a record of it.
    """

    coordinator: Address | None = None
    first: tuple[str, int, int] | None = None


class Transactions:
    """A cluster's transactions."""

    def __init__(self, config: Mapping[str, str]) -> None:
        """Keep how to connect; nothing is asked yet.

        Args:
            config: librdkafka's, with references to secrets, which are resolved where a connection is made.

        Raises:
            InvalidOptionError: a security setting that cannot be honoured.
        """
        check_security(config)
        self._config = config
        self._wait = int(config[DELIVERY_TIMEOUT]) / 1000
        self._brokers = Brokers(config)
        self._coordinators: dict[str, Address] = {}

    def close(self) -> None:
        """Close all connections; they are opened again when they are needed."""
        self._brokers.close()
        self._coordinators.clear()

    def expect(self, coordinators: Mapping[str, Address]) -> None:
        """Take the coordinators of ids as they are given, and forget all others'."""
        self._coordinators = dict(coordinators)

    def ongoing(self, prefix: str) -> list[str]:
        """The ids of open transactions that begin with ``prefix``, of all coordinators.

        Raises:
            BrokerError: not all of them answered.
        """
        return [key for key in self._patiently(self._ongoing) if key.startswith(prefix)]

    def describe(self, ids: Iterable[str]) -> dict[str, Described | None]:
        """What is known of each; None where the id is not known.

        Raises:
            BrokerError: a coordinator does not answer, or the user may not ask.
        """

        def ask(connection: Connection, group: list[str]) -> dict[str, tuple[int, Described]]:
            require(connection, transaction_requests.DESCRIBE)
            return transaction_requests.read_describe(connection.ask(transaction_requests.describe(group)))

        answers = self._of_coordinators(list(ids), ask)
        return {key: None if code == UNKNOWN_ID else fine(key, code, found) for key, (code, found) in answers.items()}

    def commit(self, endings: Iterable[Ending]) -> dict[str, int]:
        """Commit each; the error code that stays for each, 0 where it is done.

        Asking again for what was done already is no error.

        Raises:
            BrokerError: a coordinator does not answer: some may have ended, and some not.
        """
        wanted = {ending.id: ending for ending in endings}

        def ask(connection: Connection, group: list[str]) -> dict[str, tuple[int, None]]:
            require(connection, transaction_requests.END)
            last = connection.versions[transaction_requests.END]
            answers = connection.ask_all([transaction_requests.commit(*wanted[key], last) for key in group])
            return {key: (transaction_requests.read_code(a), None) for key, a in zip(group, answers, strict=True)}

        return {key: code for key, (code, _) in self._of_coordinators(list(wanted), ask).items()}

    def abort(self, open_: Mapping[str, Described]) -> list[str]:
        """Abort what is open, and end its producers for good; the ids of those that were open until now.

        A producer that is still at work must not go on: with EndTxn alone it would begin another transaction under the
        same id and epoch, with the rest of its records.

        Raises:
            BrokerError: a coordinator does not answer: some may have ended, and some not.
        """

        def ask(connection: Connection, group: list[str]) -> dict[str, tuple[int, None]]:
            answers = connection.ask_all([transaction_requests.fence(key, open_[key]) for key in group])
            return {key: (transaction_requests.read_code(a), None) for key, a in zip(group, answers, strict=True)}

        codes = self._of_coordinators(list(open_), ask)
        # while it is aborted (51) it is asked for again, and then is fenced already; 0 where transaction.version is 2
        return [key for key, (code, _) in codes.items() if code in _FENCED]

    def may_write(self, transactional_id: str) -> bool:
        """Whether the user may write under a transactional id that nobody uses.

        A transaction that there is not is to be committed: brokers look at the rights first, and then refuse it.

        Raises:
            BrokerError: its coordinator does not answer, or the user may not even see the id.
        """
        return bool(self.commit([Ending(transactional_id, 0, 0)])[transactional_id] != _NOT_ALLOWED)

    def first_offsets(self, described: Mapping[str, Described]) -> dict[str, tuple[str, int, int]]:
        """Of each open transaction one record: topic, partition and offset; absent where it has none."""
        chosen = {key: d.partitions[0] for key, d in described.items() if d.partitions}
        producers = self._patiently(lambda: self._producers(set(chosen.values()))) if chosen else {}
        found: dict[str, tuple[str, int, int]] = {}
        for key, position in chosen.items():
            for producing in producers[position]:
                if producing.producer == described[key].producer and producing.first_offset >= 0:
                    found[key] = (*position, producing.first_offset)
        return found

    def outcome(self, place: tuple[str, int, int], producer: int) -> Outcome:
        """What became of a producer's transaction, by its first record in a partition.

        Args:
            place: topic, partition and offset of the record.

        Raises:
            BrokerError: the partition's leader does not answer.
        """
        topic, partition, offset = place

        def ask() -> Outcome:
            leaders = transaction_requests.read_leaders(self._brokers.any().ask(transaction_requests.leaders([topic])))
            if (topic, partition) not in leaders:
                raise Passing(5)
            answer = self._brokers.at(leaders[topic, partition]).ask(transaction_outcome.look(*place))
            code, found = transaction_outcome.seen(answer, partition, offset, producer)
            if code == _OUT_OF_RANGE:
                return Outcome.GONE
            if code in PASSING:
                raise Passing(code)
            outcome: Outcome = fine(f"{topic}[{partition}]@{offset}", code, found)
            return outcome

        return self._patiently(ask)

    def _ongoing(self) -> list[str]:
        found: list[str] = []
        for address in transaction_requests.read_brokers(self._brokers.any().ask(transaction_requests.brokers())):
            connection = self._brokers.at(address)
            require(connection, transaction_requests.LIST)
            code, ids = transaction_requests.read_list(connection.ask(transaction_requests.list_ongoing()))
            if code in PASSING:
                raise Passing(code)
            found += fine("ListTransactions", code, ids)
        return found

    def _producers(self, positions: set[TopicPartition]) -> dict[TopicPartition, list[transaction_requests.Producing]]:
        leaders = transaction_requests.read_leaders(
            self._brokers.any().ask(transaction_requests.leaders(sorted({t for t, _ in positions})))
        )
        groups: dict[Address, list[TopicPartition]] = {}
        for position in sorted(positions):
            if position not in leaders:
                raise Passing(5)
            groups.setdefault(leaders[position], []).append(position)
        found: dict[TopicPartition, list[transaction_requests.Producing]] = {}
        for address, group in groups.items():
            answer = transaction_requests.read_describe_producers(
                self._brokers.at(address).ask(transaction_requests.describe_producers(group))
            )
            for position, (code, producers) in answer.items():
                if code in PASSING:
                    raise Passing(code)
                found[position] = fine(f"{position[0]}[{position[1]}]", code, producers)
            complete(found, group)
        return found

    def _of_coordinators(
        self, ids: list[str], ask: Callable[[Connection, list[str]], dict[str, tuple[int, T]]]
    ) -> dict[str, tuple[int, T]]:
        """Ask each id's coordinator; those who are to be asked again, again."""
        done: dict[str, tuple[int, T]] = {}

        def some() -> None:
            waiting = [key for key in ids if key not in done]
            passing = 0
            for address, group in self._groups(waiting).items():
                answers = ask(self._brokers.at(address), group)
                complete(answers, group)
                for key, (code, found) in answers.items():
                    if code in PASSING:
                        passing = code
                        self._coordinators.pop(key, None)
                    else:
                        done[key] = code, found
            if passing:
                raise Passing(passing)

        self._patiently(some)
        return done

    def _groups(self, ids: list[str]) -> dict[Address, list[str]]:
        unknown = [key for key in ids if key not in self._coordinators]
        if unknown:
            connection = self._brokers.any()
            if connection.versions.get(transaction_requests.FIND_COORDINATOR, 0) < 4:
                raise TransactionError(f"The brokers cannot find several coordinators at once: {OLDEST}.")
            answers = transaction_requests.read_coordinators(connection.ask(transaction_requests.coordinators(unknown)))
            complete(answers, unknown)
            for key, (code, address) in answers.items():
                if code in PASSING:
                    raise Passing(code)
                self._coordinators[key] = fine(key, code, address)
        groups: dict[Address, list[str]] = {}
        for key in ids:
            groups.setdefault(self._coordinators[key], []).append(key)
        return groups

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Ask again while the cause may pass, as long as a record may take to be delivered.

        Raises:
            BrokerUnreachableError: it did not pass.
        """
        if self._brokers.login_changed():
            self.close()
        whom = f"'{self._config['bootstrap.servers']}': the coordinators of transactions"
        return patiently(ask, self.close, self._wait, whom, f" ('properties.{DELIVERY_TIMEOUT}')")
