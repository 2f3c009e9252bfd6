"""Read and commit a consumer group's offsets without joining the group, and find out what the user may do with it.

Not with librdkafka: its admin client ends the process if the coordinator fails during a request
(https://github.com/confluentinc/librdkafka/issues/4605, https://github.com/confluentinc/librdkafka/issues/5040).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from typing import Final, TypeVar

from kafka_sql.errors import AuthorizationError, BrokerError, KafkaSqlError, UnsupportedVersionError
from kafka_sql.kafka.direct.coordinator import Coordinator
from kafka_sql.kafka.error_codes import AUTHORIZATION_FAILED, ErrorCode, error_text, is_retriable
from kafka_sql.kafka.protocol import groups
from kafka_sql.kafka.protocol.addresses import run_in_thread
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.errors import check_complete
from kafka_sql.kafka.protocol.messages import Request
from kafka_sql.kafka.protocol.retries import open_request_pool
from kafka_sql.kafka.protocol.transaction_admin import check_security
from kafka_sql.kafka.protocol.transactions import GROUP
from kafka_sql.kafka.topic_partition import Offsets, TopicPartition
from kafka_sql.options.secret_references import resolve

T = TypeVar("T")

_OPTION: Final = "properties.group.id"
# of DescribeGroups; operations are numbered as in AclOperation
_NO_OPERATIONS: Final = -(1 << 31)
_ALL, _READ = 1 << 2, 1 << 3


class GroupOffsets:
    """A client for the offsets of groups of one cluster. Several threads may use it.

    A group is its id, or a reference to it.

    Raises:
        BrokerError: by every request, if the coordinator returns an error or does not respond.
        InvalidOptionError: by every request, if a security setting is not supported.
    """

    def __init__(self, config: Mapping[str, str]) -> None:
        """Create the client. This sends no request."""
        self._config, self._connections = config, open_request_pool(config)
        self._coordinators: dict[str, Coordinator] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, self._connections.close)

    def committed(self, group: str, partitions: Collection[TopicPartition]) -> Offsets:
        """Return the committed offsets of a group; a partition without one is absent.

        Raises:
            BrokerError: the coordinator returns an error or does not respond.
            InvalidOptionError: a security setting is not supported.
        """
        results: dict[TopicPartition, tuple[int, int]] = {}

        def read(response: Reader) -> tuple[int, None]:
            code, by_partition = groups.read_offset_fetch(response)
            if code == ErrorCode.NONE:
                check_complete(by_partition, partitions)
            results.update(by_partition)
            return code or _worst((c for c, _ in by_partition.values()), ApiKey.OFFSET_FETCH), None

        group = resolve(group, _OPTION)
        self._ask(group, groups.offset_fetch(group, partitions), read)
        return {partition: offset for partition, (_, offset) in results.items() if offset >= 0}

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> Future[None]:
        """Commit offsets without waiting.

        Returns:
            done when the coordinator has responded; fails with BrokerError.
        """

        def read(response: Reader) -> tuple[int, None]:
            codes = groups.read_offset_commit(response)
            check_complete(codes, offsets)
            return _worst(codes.values(), ApiKey.OFFSET_COMMIT), None

        def run() -> None:
            try:
                resolved = resolve(group, _OPTION)
                self._ask(resolved, groups.offset_commit(resolved, offsets), read)
            except KafkaSqlError as e:
                raise e if isinstance(e, BrokerError) else BrokerError(e.message) from None

        return run_in_thread(run, "kafka_sql-commit")

    def may_read(self, group: str) -> bool | None:
        """Return whether the user may read and commit offsets of a group, which need not exist; None if unknown.

        Raises:
            AuthorizationError: the user may not even describe the group.
            BrokerError: the coordinator does not respond.
        """
        group = resolve(group, _OPTION)
        try:
            operations = self._ask(group, groups.describe_group(group), groups.read_describe_group)
        except UnsupportedVersionError:  # a broker before 2.3
            return None
        return None if operations == _NO_OPERATIONS else bool(operations & (_ALL | _READ))

    def _ask(self, group: str, request: Request, read: Callable[[Reader], tuple[int, T]]) -> T:
        with self._lock:
            check_security(self._config)
            if self._connections.credentials_changed():
                self._connections.close()
            coordinator = self._coordinators.get(group)
            if coordinator is None:
                coordinator = Coordinator(self._config, self._connections, group, GROUP, _error)
                self._coordinators[group] = coordinator
            code, result = coordinator.ask(request, read)
        if code != ErrorCode.NONE:
            raise _error(group, code, error_text(code), self._config)
        return result


def _worst(codes: Iterable[int], api: ApiKey) -> int:
    """Return an error code that is not retriable if there is one, else any error code, else NONE."""
    return max(codes, key=lambda code: (code != ErrorCode.NONE) + (not is_retriable(code, api)), default=ErrorCode.NONE)


def _error(group: str, code: int, reason: str, config: Mapping[str, str]) -> BrokerError:
    error_type, advice = BrokerError, ""
    if code in AUTHORIZATION_FAILED:
        error_type = AuthorizationError
        advice = f" Grant the user DESCRIBE on the topic, and READ on the group of '{_OPTION}'."
    servers = config["bootstrap.servers"]
    return error_type(f"{servers}: group '{group}': {reason}.{advice}", servers=servers)
