"""The offsets of groups and a simulated broker: what is retried, and for how long."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator

import pytest

from kafka_sql.errors import AuthorizationError, BrokerError
from kafka_sql.kafka.admin.groups import GroupOffsets
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.codec import ApiKey
from tests.unit.kafka.direct.simulated_broker import LOST, SILENT, SimulatedBroker, simulated_broker

COMMIT, FETCH, FIND = ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.FIND_COORDINATOR
OFFSETS = {("a", 0): 5, ("b", 2): 7}
CODES = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, LOST)


@pytest.fixture
def broker() -> Iterator[SimulatedBroker]:
    with simulated_broker() as running:
        yield running


def test_offsets_are_committed_and_read(broker: SimulatedBroker) -> None:
    groups = GroupOffsets(broker.config())
    groups.commit("g", OFFSETS).result(30)
    assert broker.committed == {("g", partition): offset for partition, offset in OFFSETS.items()}
    assert groups.committed("g", [*OFFSETS, ("a", 1)]) == OFFSETS
    assert groups.committed("other", OFFSETS) == {}
    assert broker.requests.count(FIND) == 2  # once per group


@pytest.mark.parametrize("code", [*CODES, SILENT])
@pytest.mark.parametrize("key", [COMMIT, FETCH])
def test_retriable_errors(broker: SimulatedBroker, key: ApiKey, code: int) -> None:
    broker.errors[key] = [code, code]
    groups = GroupOffsets(broker.config(request_timeout_ms="50"))
    groups.commit("g", OFFSETS).result(30)
    assert groups.committed("g", OFFSETS) == OFFSETS
    assert broker.requests.count(key) == 3
    assert broker.requests.count(FIND) == 3  # the coordinator may have moved


def test_a_coordinator_that_stays_unavailable(broker: SimulatedBroker) -> None:
    broker.errors[FIND] = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 1_000
    groups = GroupOffsets(broker.config(default_api_timeout_ms="200"))
    expected = "request OffsetCommit for group 'g' within 0\\.2 s: .*COORDINATOR_NOT_AVAILABLE.*'properties.default.api"
    with pytest.raises(BrokerError, match=expected):
        groups.commit("g", OFFSETS).result(30)


@pytest.mark.parametrize("key", [COMMIT, FETCH, FIND])
def test_a_user_without_permission(broker: SimulatedBroker, key: ApiKey) -> None:
    broker.errors[key] = [ErrorCode.GROUP_AUTHORIZATION_FAILED] * 2
    groups = GroupOffsets(broker.config())
    message = "group 'g': .*GROUP_AUTHORIZATION_FAILED.* READ on the group of 'properties.group.id'"
    if key != FETCH:
        with pytest.raises(AuthorizationError, match=message):
            groups.commit("g", OFFSETS).result(30)
    if key != COMMIT:
        with pytest.raises(AuthorizationError, match=message):
            groups.committed("g", OFFSETS)


def test_unsupported_security_settings_fail_the_commit(broker: SimulatedBroker) -> None:
    groups = GroupOffsets(broker.config(security_protocol="SSL", ssl_curves_list="P-256"))
    with pytest.raises(BrokerError, match=re.escape("'properties.ssl.curves.list' is not supported")):
        groups.commit("g", OFFSETS).result(30)


def test_brokers_without_the_request_report_no_permissions(broker: SimulatedBroker) -> None:
    assert GroupOffsets(broker.config()).may_read("g") is None


def test_connections_are_closed_with_the_client(broker: SimulatedBroker) -> None:
    groups = GroupOffsets(broker.config())
    groups.committed("g", OFFSETS)
    connection = groups._connections.any_connection()
    del groups
    gc.collect()
    assert connection.fileno() == -1
