"""List, describe, commit and abort transactions of other producers, and find out how past ones ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from kafka_sql.kafka.error_codes import FENCED, ErrorCode, is_retriable
from kafka_sql.kafka.protocol import transactions
from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.errors import (
    RetriableError,
    check_complete,
    raise_for_code,
    raise_if_retriable,
)
from kafka_sql.kafka.protocol.metadata import Metadata
from kafka_sql.kafka.protocol.retries import delivery_limit, open_request_pool, retry_until
from kafka_sql.kafka.protocol.sasl import check_sasl
from kafka_sql.kafka.protocol.tls import check_tls
from kafka_sql.kafka.protocol.transactions import ActiveProducer, Outcome, TransactionDescription
from kafka_sql.kafka.topic_partition import TopicPartition

T = TypeVar("T")


class EndTxnTarget(NamedTuple):
    """A transaction to end."""

    transactional_id: str
    producer_id: int
    epoch: int


class TransactionHint(NamedTuple):
    """Facts about a transaction that its producer knows, and that otherwise cost a request.

    Attributes:
        coordinator: the address of its coordinator.
        first_record: topic, partition and offset of its first record in one of its partitions.
    """

    coordinator: Address | None = None
    first_record: tuple[str, int, int] | None = None


def check_security(config: Mapping[str, str]) -> None:
    """Check that this client supports the security settings as librdkafka does.

    Raises:
        InvalidOptionError: a setting is not supported; the message names the option.
    """
    protocol = config.get("security.protocol", "plaintext").lower()
    if protocol not in ("plaintext", "sasl_plaintext"):  # a reference may become one with TLS
        check_tls(config)
    if protocol.startswith("sasl"):
        check_sasl(config)


class TransactionAdmin:
    """A client for the transactions of a cluster. Retries within ``delivery.timeout.ms``.

    Raises:
        BrokerError: by every request, if a broker did not respond, or the user lacks an ACL. Any of the transactions
            may have ended.
    """

    def __init__(self, config: Mapping[str, str]) -> None:
        """Create a client. This sends no request.

        Raises:
            InvalidOptionError: a security setting is not supported.
        """
        check_security(config)
        self._limit = delivery_limit(config)
        self._connections = open_request_pool(config)
        self._coordinators: dict[str, Address] = {}

    def close(self) -> None:
        """Close all connections. They are opened again on next use."""
        self._connections.close()
        self._coordinators.clear()

    def set_coordinators(self, coordinators: Mapping[str, Address]) -> None:
        """Replace the known coordinators, by transactional id."""
        self._coordinators = dict(coordinators)

    def list_ongoing(self, prefix: str) -> list[str]:
        """Return the ids of all open transactions that begin with ``prefix``."""
        return [key for key in self._retry(ApiKey.LIST_TRANSACTIONS, self._list_ongoing) if key.startswith(prefix)]

    def describe(self, ids: Iterable[str]) -> dict[str, TransactionDescription | None]:
        """Return the state of each transactional id; None if its coordinator does not know it."""

        def request(connection: Connection, group: list[str]) -> dict[str, tuple[int, TransactionDescription]]:
            return transactions.read_describe_transactions(connection.ask(transactions.describe_transactions(group)))

        results = self._request_coordinators(ApiKey.DESCRIBE_TRANSACTIONS, list(ids), request)
        return {
            key: None if code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND else raise_for_code(key, code, description)
            for key, (code, description) in results.items()
        }

    def commit(self, targets: Iterable[EndTxnTarget]) -> dict[str, int]:
        """Commit transactions. Committing one again is not an error.

        Returns:
            the final error code of each transactional id; 0 if it is committed.
        """
        by_id = {target.transactional_id: target for target in targets}

        def request(connection: Connection, group: list[str]) -> dict[str, tuple[int, None]]:
            responses = connection.ask_all([transactions.end_txn(*by_id[key], committed=True) for key in group])
            return {key: (transactions.read_end_txn(a), None) for key, a in zip(group, responses, strict=True)}

        return {
            key: code for key, (code, _) in self._request_coordinators(ApiKey.END_TXN, list(by_id), request).items()
        }

    def abort(self, descriptions: Mapping[str, TransactionDescription]) -> list[str]:
        """Abort open transactions and fence their producers.

        EndTxn alone would not stop a producer that is still running: it would begin another transaction with the same
        id and epoch, and write its remaining records to it.

        Returns:
            the ids of those that were open until now.
        """

        def request(connection: Connection, group: list[str]) -> dict[str, tuple[int, None]]:
            responses = connection.ask_all([transactions.bump_producer_epoch(key, descriptions[key]) for key in group])
            return {
                key: (transactions.read_init_producer_id(a)[0], None) for key, a in zip(group, responses, strict=True)
            }

        results = self._request_coordinators(ApiKey.INIT_PRODUCER_ID, list(descriptions), request)
        # CONCURRENT_TRANSACTIONS while the abort is in progress is retried, and then the given epoch is fenced. With
        # transaction.version = 2 the response is NONE.
        return [key for key, (code, _) in results.items() if code == ErrorCode.NONE or code in FENCED]

    def require_support(self) -> None:
        """Check that the brokers support all requests of this client.

        Raises:
            UnsupportedVersionError: they do not.
            BrokerError: no broker responded.
        """

        def check() -> None:
            connection = self._connections.any_connection()
            for request in (
                transactions.list_ongoing_transactions(),
                transactions.describe_transactions([]),
                transactions.describe_producers([]),
                transactions.end_txn("", 0, 0, committed=False),
            ):
                connection.choose_version(request.key, request.oldest, request.latest)

        self._retry(ApiKey.API_VERSIONS, check)

    def can_write(self, transactional_id: str) -> bool:
        """Return whether the user may write with a transactional id that is not in use.

        Commits a transaction that does not exist: brokers check the ACLs before they return that error.
        """
        code = self.commit([EndTxnTarget(transactional_id, 0, 0)])[transactional_id]
        return code != ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

    def first_offsets(self, descriptions: Mapping[str, TransactionDescription]) -> dict[str, tuple[str, int, int]]:
        """Return topic, partition and offset of one record of each open transaction; absent if it has no records."""
        first_partitions = {key: d.partitions[0] for key, d in descriptions.items() if d.partitions}
        requested = set(first_partitions.values())
        producers = (
            self._retry(ApiKey.DESCRIBE_PRODUCERS, lambda: self._describe_producers(requested)) if requested else {}
        )
        offsets: dict[str, tuple[str, int, int]] = {}
        for key, partition in first_partitions.items():
            for producer in producers[partition]:
                if producer.producer_id == descriptions[key].producer_id and producer.txn_start_offset >= 0:
                    offsets[key] = (*partition, producer.txn_start_offset)
        return offsets

    def outcome(self, first_record: tuple[str, int, int], producer_id: int) -> Outcome:
        """Find out how a producer's transaction ended.

        Args:
            first_record: topic, partition and offset of its first record in a partition.
        """
        topic, partition, offset = first_record

        def request() -> Outcome:
            leader = _require_leader(self._connections.cluster_metadata([topic]), topic, partition)
            response = self._connections.connect_to(leader).ask(transactions.fetch_first_record(*first_record))
            code, outcome = transactions.parse_outcome(response, partition, offset, producer_id)
            if code == ErrorCode.OFFSET_OUT_OF_RANGE:
                return Outcome.UNKNOWN
            raise_if_retriable(code, ApiKey.FETCH)
            return raise_for_code(f"{topic}[{partition}]@{offset}", code, outcome, topic)

        return self._retry(ApiKey.FETCH, request)

    def _list_ongoing(self) -> list[str]:
        cluster = self._connections.cluster_metadata([])
        ongoing: list[str] = []
        for address in cluster.brokers.values():
            connection = self._connections.connect_to(address)
            response = connection.ask(transactions.list_ongoing_transactions())
            code, ids = transactions.read_list_transactions(response)
            raise_if_retriable(code, ApiKey.LIST_TRANSACTIONS)
            ongoing += raise_for_code("ListTransactions", code, ids)
        return ongoing

    def _describe_producers(self, partitions: set[TopicPartition]) -> dict[TopicPartition, list[ActiveProducer]]:
        topics = sorted({topic for topic, _ in partitions})
        cluster = self._connections.cluster_metadata(topics)
        groups: dict[Address, list[TopicPartition]] = {}
        for topic, partition in sorted(partitions):
            groups.setdefault(_require_leader(cluster, topic, partition), []).append((topic, partition))
        result: dict[TopicPartition, list[ActiveProducer]] = {}
        for address, group in groups.items():
            response = self._connections.connect_to(address).ask(transactions.describe_producers(group))
            for (topic, partition), (code, producers) in transactions.read_describe_producers(response).items():
                raise_if_retriable(code, ApiKey.DESCRIBE_PRODUCERS)
                result[topic, partition] = raise_for_code(f"{topic}[{partition}]", code, producers, topic)
            check_complete(result, group)
        return result

    def _request_coordinators(
        self, api: ApiKey, ids: list[str], request: Callable[[Connection, list[str]], dict[str, tuple[int, T]]]
    ) -> dict[str, tuple[int, T]]:
        """Send a request about each id to its coordinator, until no error code is retriable."""
        done: dict[str, tuple[int, T]] = {}

        def request_remaining() -> None:
            remaining = [key for key in ids if key not in done]
            retriable: int = ErrorCode.NONE
            for address, group in self._group_by_coordinator(remaining).items():
                results = request(self._connections.connect_to(address), group)
                check_complete(results, group)
                for key, (code, result) in results.items():
                    if is_retriable(code, api):
                        retriable = code
                        self._coordinators.pop(key, None)
                    else:
                        done[key] = code, result
            if retriable:
                raise RetriableError(retriable)

        self._retry(api, request_remaining)
        return done

    def _group_by_coordinator(self, ids: list[str]) -> dict[Address, list[str]]:
        unknown = [key for key in ids if key not in self._coordinators]
        if unknown:
            coordinators = transactions.find_coordinators(self._connections.any_connection(), unknown)
            check_complete(coordinators, unknown)
            for key, (code, address) in coordinators.items():
                raise_if_retriable(code, ApiKey.FIND_COORDINATOR)
                self._coordinators[key] = raise_for_code(key, code, address)
        groups: dict[Address, list[str]] = {}
        for key in ids:
            groups.setdefault(self._coordinators[key], []).append(key)
        return groups

    def _retry(self, api: ApiKey, request: Callable[[], T]) -> T:
        """Repeat a request after retriable errors, for as long as the delivery of a record may take."""
        if self._connections.credentials_changed():
            self.close()
        return retry_until(request, self._connections, self._limit, api.title, self._coordinators.clear)


def _require_leader(cluster: Metadata, topic: str, partition: int) -> Address:
    """Return the leader of a partition."""
    metadata = cluster.topic(topic)
    raise_if_retriable(metadata.code, ApiKey.METADATA)
    return raise_for_code(f"Topic '{topic}'", metadata.code, metadata).require_leader(partition)
