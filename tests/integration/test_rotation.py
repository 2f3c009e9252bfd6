"""A running query takes up a password that was changed, without a restart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from tests.secured import SCRAM, Secured, secured_broker

pytestmark = [pytest.mark.integration, pytest.mark.long]  # a broker of its own; test_security.py has the parts


@pytest.fixture
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as broker:
        yield broker


def test_a_running_query(secured: Secured, spark: Any, sql: Any, tmp_path: Path) -> None:
    topics, secrets = secured.topics, tmp_path / "secrets.properties"
    source, target = topics.create(), topics.create()
    users = ("first", "second", "third")
    for user in users:
        secured.set_password(user, f"{user}-password")
        for topic in (source, target):
            secured.allow(user, ResourceType.TOPIC, topic, AclOperation.READ, AclOperation.WRITE)

    def rotate(user: str) -> None:
        secrets.write_text(f"user={user}\npassword={user}-password\n")

    rotate(users[0])
    login = f'username="${{file:{secrets}:user}}" password="${{file:{secrets}:password}}"'
    properties = {**secured.properties("BOTH", "SCRAM-SHA-512"), "sasl.jaas.config": f"{SCRAM} required {login};"}
    options = {f"properties.{key}": value for key, value in properties.items()}
    for name, topic in (("rotating", source), ("rotated", target)):
        sql(f"CREATE TEMPORARY TABLE {name} (a INT) {topics.with_options(topic, **options)}")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path / 'checkpoints'}'")
    sql("SET 'execution.runtime-mode' = 'streaming'")
    (row,) = sql("INSERT INTO rotated SELECT a FROM rotating").collect()
    query = spark.streams.get(row[0])
    for number, (before, after) in enumerate(itertools.pairwise(users)):
        topics.put(source, b'{"a": %d}' % (2 * number))
        query.processAllAvailable()
        rotate(after)
        secured.set_password(before, "no longer")  # only the new one gets in
        topics.put(source, b'{"a": %d}' % (2 * number + 1))
        query.processAllAvailable()
    query.stop()
    assert [m.value() for m in topics.take(target, 4)] == [b'{"a":%d}' % i for i in range(4)]
