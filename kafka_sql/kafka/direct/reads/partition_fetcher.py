"""Fetch from the leader of a partition, or from the replica that the leader prefers for the client's rack (KIP-392)."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka_sql.errors import BrokerError, KafkaSqlError, UnsupportedVersionError
from kafka_sql.kafka.client_cache import CachedClient
from kafka_sql.kafka.direct.reads.fetch_wait import FetchSettings
from kafka_sql.kafka.error_codes import ErrorCode, error_text, is_retriable
from kafka_sql.kafka.fetch_errors import fetch_error
from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.errors import RetriableError, UnknownTopicError
from kafka_sql.kafka.protocol.fetch import FetchResult, fetch, list_earliest_offset, read_fetch, read_list_offsets
from kafka_sql.kafka.protocol.messages import Request
from kafka_sql.kafka.protocol.metadata import Metadata
from kafka_sql.kafka.split import Split
from kafka_sql.kafka.topic_partition import TopicPartition

_LOG = logging.getLogger("kafka_sql.kafka")

_SECONDS_AT_LEADER: Final = 30.0  # after a replica failed
# codes for formats that the broker cannot return to this client
_UNSUPPORTED: Final = (
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
)


class UnsupportedReadError(Exception):
    """The direct client cannot read a partition any further; librdkafka may.

    Attributes:
        offset: the first offset that was not read.
        is_lasting: whether the next read of the topic would fail, too.
    """

    def __init__(self, offset: int, reason: str, *, is_lasting: bool) -> None:
        super().__init__(reason)
        self.offset, self.reason, self.is_lasting = offset, reason, is_lasting


class ReadReplica(NamedTuple):
    """Where to fetch a partition, if not from its leader with the client's rack."""

    node: int | None  # the preferred replica; None for the leader without the rack
    expires: float  # when to ask the leader again, in seconds of ``time.monotonic``


@dataclass
class Brokers(CachedClient):
    """The connections to a cluster and what is known about it. Cached for the worker's next split."""

    connections: ConnectionPool
    # the metadata of topics that were read, and when each expires
    metadata: dict[str, tuple[Metadata, float]] = field(default_factory=dict)
    # the replica to fetch a partition from, if it is not the leader
    replicas: dict[TopicPartition, ReadReplica] = field(default_factory=dict)


class _SentRequest(NamedTuple):
    offset: int
    connection: Connection
    request: Request
    correlation_id: int


class PartitionFetcher:
    """Fetch one partition, one request at a time.

    Attributes:
        is_at_replica: whether the last request went to a preferred replica.
    """

    def __init__(self, brokers: Brokers, split: Split, settings: FetchSettings) -> None:
        self._brokers, self._split, self._settings = brokers, split, settings
        self._partition: TopicPartition = (split.topic, split.partition)
        self._sent_request: _SentRequest | None = None
        self.is_at_replica = False

    def fetch(self, offset: int, wait_ms: int, min_bytes: int, seconds: float) -> FetchResult:
        """Fetch records from an offset on.

        Args:
            wait_ms, min_bytes: as in ``protocol.fetch``, if the request has not been sent ahead.

        Returns:
            the result with code NONE or OFFSET_OUT_OF_RANGE.

        Raises:
            OSError, EOFError: a broker is not reachable, or a connection broke.
            RetriableError: the partition has no leader, or an error code is retriable.
            AuthorizationError, FetchError: another error code.
            UnsupportedReadError: the broker rejects this client or its request.
        """
        while True:
            try:
                result = self._exchange(offset, wait_ms, min_bytes, seconds)
            except (OSError, EOFError, RetriableError) as e:
                self._brokers.metadata.pop(self._split.topic, None)
                if not self.is_at_replica:
                    raise
                _LOG.debug("%s: reading from the leader again: %s", self._split.describe_offset(offset), e)
                self.leave_replica()
                continue
            is_redirected = result.preferred_replica >= 0 and not self.is_at_replica and not result.records
            if not is_redirected or self._read_replica() is not None:
                return result
            expires = time.monotonic() + self._settings.metadata_max_age
            self._brokers.replicas[self._partition] = ReadReplica(result.preferred_replica, expires)

    def send_ahead(self, offset: int, wait_ms: int) -> None:
        """Send the request for the records at an offset before ``fetch`` is called, unless the client is throttled."""
        try:
            connection = self._connect(offset, self._settings.socket_timeout)
            if connection.ready_at <= time.monotonic():
                self._sent_request = self._send(connection, offset, wait_ms, 1)
        except (OSError, EOFError, RetriableError, BrokerError, UnsupportedReadError) as e:
            # the records before the offset are not processed yet: fetch tries again after them, and raises
            _LOG.debug("%s: %s", self._split.describe_offset(offset), e)

    def leave_replica(self) -> None:
        """Fetch from the leader for a while, even if it prefers a replica."""
        expires = time.monotonic() + min(_SECONDS_AT_LEADER, self._settings.metadata_max_age)
        self._brokers.replicas[self._partition] = ReadReplica(None, expires)
        self.discard_response()

    def earliest_offset(self, offset: int, seconds: float) -> int:
        """Return the first offset that the partition has.

        Args:
            offset: the offset that was requested, for error messages.
        """
        self.discard_response()
        try:
            return self._earliest_offset(self._open(self._leader(offset, seconds), offset), offset, seconds)
        except (OSError, EOFError, RetriableError):
            self._brokers.metadata.pop(self._split.topic, None)
            raise

    def discard_response(self) -> None:
        """Close the connection if it has an outstanding request."""
        if self._sent_request is not None:
            self._brokers.connections.discard(self._sent_request.connection)
            self._sent_request = None

    def _exchange(self, offset: int, wait_ms: int, min_bytes: int, seconds: float) -> FetchResult:
        if self._sent_request is None or self._sent_request.offset != offset:
            self.discard_response()
            self._sent_request = self._send(self._connect(offset, seconds), offset, wait_ms, min_bytes)
        sent, self._sent_request = self._sent_request, None
        try:
            response = sent.connection.receive(sent.request, sent.correlation_id, seconds)
            result = read_fetch(response, self._split.partition)
        except (OSError, EOFError):
            self._brokers.connections.discard(sent.connection)
            raise
        if result.code != ErrorCode.OFFSET_OUT_OF_RANGE or self.is_at_replica:
            self._raise_for_code(result.code, offset, ApiKey.FETCH)
        return result

    def _earliest_offset(self, connection: Connection, offset: int, seconds: float) -> int:
        try:
            with _rejections(offset):
                response = connection.ask(list_earliest_offset(*self._partition), seconds)
            code, first = read_list_offsets(response, self._split.partition)
        except (OSError, EOFError):
            self._brokers.connections.discard(connection)
            raise
        self._raise_for_code(code, offset, ApiKey.LIST_OFFSETS)
        return first

    def _raise_for_code(self, code: int, offset: int, api: ApiKey) -> None:
        if code == ErrorCode.NONE:
            return
        # UNKNOWN_SERVER_ERROR is retriable for Java's consumer, too: tiered storage may fail for a moment. After an
        # error of a replica, the leader may not return one.
        if self.is_at_replica or code == ErrorCode.UNKNOWN_SERVER_ERROR or is_retriable(code, api):
            raise RetriableError(code)
        if code in _UNSUPPORTED:
            raise UnsupportedReadError(offset, error_text(code), is_lasting=True)
        raise fetch_error(code, self._split, offset, error_text(code))

    def _send(self, connection: Connection, offset: int, wait_ms: int, min_bytes: int) -> _SentRequest:
        request = fetch(
            *self._partition,
            offset,
            self._settings.max_response,
            wait_ms=wait_ms,
            committed=self._settings.committed,
            min_bytes=min_bytes,
            rack=self._settings.rack if self._read_replica() is None else "",
        )
        try:
            with _rejections(offset):
                return _SentRequest(offset, connection, request, connection.send(request))
        except OSError:
            self._brokers.connections.discard(connection)
            raise

    def _connect(self, offset: int, seconds: float) -> Connection:
        replica = self._read_replica()
        self.is_at_replica = replica is not None and replica.node is not None
        if replica is None or replica.node is None:
            return self._open(self._leader(offset, seconds), offset)
        address = self._metadata(offset, seconds).brokers.get(replica.node)
        if address is None:
            raise RetriableError(ErrorCode.BROKER_NOT_AVAILABLE)
        return self._open(address, offset)

    def _read_replica(self) -> ReadReplica | None:
        replica = self._brokers.replicas.get(self._partition)
        if replica is not None and replica.expires < time.monotonic():
            del self._brokers.replicas[self._partition]
            return None
        return replica

    def _leader(self, offset: int, seconds: float) -> Address:
        self.is_at_replica = False
        topic = self._metadata(offset, seconds).topic(self._split.topic)
        if topic.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise UnknownTopicError
        self._raise_for_code(topic.code, offset, ApiKey.METADATA)
        return topic.require_leader(self._split.partition)

    def _metadata(self, offset: int, seconds: float) -> Metadata:
        topic, brokers = self._split.topic, self._brokers
        metadata, expires = brokers.metadata.get(topic, (None, 0.0))
        if metadata is None or expires < time.monotonic():
            seconds = min(seconds, self._settings.request_timeout)
            try:
                with _rejections(offset):
                    metadata = brokers.connections.cluster_metadata([topic], seconds)
            except (OSError, EOFError):
                brokers.connections.close()
                raise
            brokers.metadata[topic] = metadata, time.monotonic() + self._settings.metadata_max_age
        return metadata

    def _open(self, address: Address, offset: int) -> Connection:
        with _rejections(offset):
            return self._brokers.connections.connect_to(address)


@contextmanager
def _rejections(offset: int) -> Iterator[None]:
    """Leave the read to librdkafka if a broker rejects the client: librdkafka retries, and explains failed logins."""
    try:
        yield
    except UnsupportedVersionError as e:
        raise UnsupportedReadError(offset, e.message, is_lasting=True) from e
    except KafkaSqlError as e:
        raise UnsupportedReadError(offset, e.message, is_lasting=False) from e
