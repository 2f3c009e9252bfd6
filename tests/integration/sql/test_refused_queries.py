"""Queries that the brokers reject: each error names the cause, and the option or permission to fix."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from tests.secured_broker import SecuredBroker

pytestmark = pytest.mark.integration
READ, WRITE = "SELECT * FROM {}", "INSERT INTO {} VALUES (1)"
WRONG_PASSWORD = "hunter2-4711"
_LOGIN = r"Check 'properties.sasl.jaas.config'"
_ONCE = {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "forbidden"}
_CREATE = {"sink.topic.create": "true"}
_GROUP = {"scan.startup.mode": "group-offsets", "properties.group.id": "forbidden-group"}


@dataclass(frozen=True)
class Case:
    """A query, and a pattern of its error."""

    statement: str
    topic: str
    message: str
    listener: str = "SASL"
    options: dict[str, str] = field(default_factory=dict)
    wrong_password: bool = False


CASES = {
    "a wrong password, reading": Case(READ, "refused-all", rf"\[AUTHENTICATION\] .*{_LOGIN}", wrong_password=True),
    "a wrong password, writing": Case(WRITE, "refused-all", rf"\[AUTHENTICATION\] .*{_LOGIN}", wrong_password=True),
    "an expired certificate": Case(
        READ, "refused-all", r"\[AUTHENTICATION\] .*certificate has expired.* Renew it on the broker", "EXPIRED"
    ),
    "a topic, reading": Case(
        READ, "refused-seen", r"\[AUTHORIZATION\] refused-seen\[0\]@0: .*Grant the user READ on the topic"
    ),
    "a topic, writing": Case(
        WRITE, "refused-seen", r"\[AUTHORIZATION\] .*refused-seen.*Grant the user .*WRITE on the topic"
    ),
    "no permission to describe": Case(READ, "refused-hidden", r"\[AUTHORIZATION\] .*Grant the user DESCRIBE"),
    "a missing topic": Case(READ, "refused-all-but-none", r"\[TOPIC_NOT_FOUND\] "),
    "a group": Case(READ, "refused-all", r"\[AUTHORIZATION\] .*READ on the group of 'prop.*group.id'", options=_GROUP),
    "a transactional id": Case(
        WRITE, "refused-all", r"\[AUTHORIZATION\] .*transactional ids that begin with .*'sink.transactional-id-prefix'",
        options=_ONCE,
    ),
    "the cluster": Case(
        WRITE,
        "refused-new",
        r"\[AUTHORIZATION\] .*Grant the user CREATE on the topic or on the cluster",
        options=_CREATE,
    ),
}  # fmt: skip


SAMPLE = ("a wrong password, reading", "a topic, writing", "a transactional id")


@pytest.fixture(scope="module", autouse=True)
def _topics(secured: SecuredBroker) -> None:
    for topic in ("refused-all", "refused-seen", "refused-hidden"):
        secured.topics.create_named(topic)
    secured.topics.produce("refused-seen", b'{"a": 1}')
    secured.allow("user", ResourceType.TOPIC, "refused-all*", AclOperation.READ, AclOperation.WRITE)
    secured.allow("user", ResourceType.TOPIC, "refused-seen", AclOperation.DESCRIBE)


def error_of(query: Callable[[], object]) -> str:
    """Run a query and return its error message."""
    try:
        result = query()
    except Exception as e:  # noqa: BLE001
        return str(e)
    return f"no error, but {result}"


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in SAMPLE else pytest.mark.long) for n in CASES])
def test_rejected_query(secured: SecuredBroker, sql: Any, name: str) -> None:
    case = CASES[name]
    properties = secured.properties(case.listener, "" if case.listener == "EXPIRED" else "SCRAM-SHA-512")
    if case.wrong_password:
        properties["sasl.jaas.config"] = secured.jaas("SCRAM-SHA-512", password=WRONG_PASSWORD)
    sql(f"CREATE TEMPORARY TABLE refused (a INT) {secured.table(properties, case.topic, **case.options)}")
    message = error_of(lambda: sql(case.statement.format("refused")).collect())
    assert re.search(case.message, message), message
    assert WRONG_PASSWORD not in message


@pytest.mark.long
def test_rejected_stream(secured: SecuredBroker, sql: Any, spark: Any, tmp_path: Path) -> None:
    secured.topics.create_named("refused-stream")
    secured.grant_query_permissions("user", "refused-stream")
    properties = secured.properties("SASL", "SCRAM-SHA-512")
    wrong = {**properties, "sasl.jaas.config": secured.jaas("SCRAM-SHA-512", password=WRONG_PASSWORD)}
    sql(f"CREATE TEMPORARY TABLE sink (a INT) {secured.table(properties, 'refused-stream')}")
    sql(f"CREATE TEMPORARY TABLE source (a INT) {secured.table(wrong, 'refused-stream')}")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path / 'checkpoints'}'")
    sql("SET 'execution.runtime-mode' = 'streaming'")
    message = error_of(lambda: sql("INSERT INTO sink SELECT a FROM source").collect())
    assert spark.streams.active == []
    assert re.search(rf"\[AUTHENTICATION\] .*{_LOGIN}", message), message
    assert WRONG_PASSWORD not in message
