"""Tokens of a Python function on a real broker: all clients, renewal, failures, and Spark's workers."""

from __future__ import annotations

import json
import logging
import os
import time
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from kafka_sql.errors import AuthenticationError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.admin.record_sizes import bytes_per_offset
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.config.token_providers import PROVIDER
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.produce import open_producer
from kafka_sql.kafka.protocol import token_cache
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.kafka.split import Split
from tests.secured_broker import SecuredBroker
from tests.waiting import wait_until

pytestmark = pytest.mark.integration
FUNCTION = '''
import json, os, pathlib, time

def read(folder):
    """Return the token in a file, and write down which process asked."""
    (pathlib.Path(folder) / f"call-{os.getpid()}-{time.monotonic_ns()}").touch()
    file = pathlib.Path(folder) / "token"
    token, expires_at = json.loads(file.read_text())
    return token, expires_at
'''


class TokenFile:
    """A folder with a token that the function in ``FUNCTION`` returns.

    Attributes:
        properties: a client's properties with the function, for the listener SASL.
        folder: where the function looks.
        module: the file with the function.
        token: the token.
    """

    def __init__(self, broker: SecuredBroker, module: Path, folder: Path) -> None:
        self._broker, self.folder, self.module = broker, folder, module
        self.properties = {
            "bootstrap.servers": broker.server("SASL"),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            PROVIDER: f"{module.stem}:read",
            "sasl.oauthbearer.config": str(folder),
        }
        self.renew()

    def renew(self, seconds: float = 300) -> None:
        """Replace the token with a new one that seems to expire after a few seconds."""
        self.token = self._broker.tokens.token("user")
        content = json.dumps([self.token, time.time() + seconds])
        (self.folder / "new").write_text(content)
        (self.folder / "new").rename(self.folder / "token")

    def remove(self) -> None:
        (self.folder / "token").unlink()

    def processes(self) -> list[int]:
        """Return the ids of the processes that called the function, one per call."""
        return [int(file.name.split("-")[1]) for file in self.folder.glob("call-*")]


@pytest.fixture
def tokens(secured: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TokenFile:
    secured.allow("user", ResourceType.TOPIC, "open-*", AclOperation.READ, AclOperation.WRITE)
    secured.allow("user", ResourceType.GROUP, "open-group", AclOperation.READ)
    module = tmp_path / "modules" / f"tokens_{uuid.uuid4().hex}.py"
    module.parent.mkdir()
    module.write_text(FUNCTION)
    (tmp_path / "tokens").mkdir()
    monkeypatch.syspath_prepend(module.parent)
    monkeypatch.setattr(token_cache, "_tokens", {})
    return TokenFile(secured, module, tmp_path / "tokens")


@pytest.mark.long
def test_all_clients_share_a_token(secured: SecuredBroker, tokens: TokenFile) -> None:
    topic = secured.topics.create_named("open-function")
    secured.topics.produce(topic, b"a", b"b")
    config = to_librdkafka(tokens.properties)
    cluster = Cluster(config)
    assert cluster.latest([(topic, 0)]) == {(topic, 0): 2}
    cluster.commit("open-group", {(topic, 0): 1}).result(30)
    assert cluster.committed("open-group", [(topic, 0)]) == {(topic, 0): 1}  # with a consumer
    assert bytes_per_offset(config, {(topic, 0): 0})
    for client in ("direct", "librdkafka"):
        with open_producer(client, config, topic, "t") as producer:
            producer.produce(pa.array([client.encode()], pa.binary()))
            producer.flush()
    for client in ("direct", "librdkafka"):
        records = read_records(config, Split(topic, 0, 0, 4), client=client)
        assert [v for batch in records for v in batch.values.to_pylist()] == [b"a", b"b", b"direct", b"librdkafka"]
    transactions = TransactionAdmin(config)
    assert transactions.list_ongoing("no such prefix") == []
    transactions.close()
    assert tokens.processes() == [os.getpid()]


@pytest.mark.long
def test_librdkafka_renews_a_token(tokens: TokenFile) -> None:
    tokens.renew(seconds=3)
    cluster = Cluster(to_librdkafka(tokens.properties))
    tokens.renew()
    wait_until(lambda: len(tokens.processes()) == 2, "renewal")
    tokens.remove()
    assert "open-function" in cluster.topics()


def test_tokens_are_not_logged(secured: SecuredBroker, tokens: TokenFile, caplog: pytest.LogCaptureFixture) -> None:
    topic = secured.topics.create_named("open-logged")
    secured.topics.produce(topic, b"a")
    config = to_librdkafka({**tokens.properties, "debug": "all"})
    with caplog.at_level(logging.DEBUG):
        Cluster(config).topics()
        assert len(next(read_records(config, Split(topic, 0, 0, 1))).offsets) == 1
    assert "OAUTHBEARER" in caplog.text
    assert not any(part in caplog.text for part in tokens.token.split("."))


@pytest.mark.parametrize("client", ["direct", "librdkafka"])
def test_a_function_that_fails(tokens: TokenFile, client: str) -> None:
    (tokens.folder / "token").write_text('["planted-4711"')
    config, started = to_librdkafka(tokens.properties), time.monotonic()
    error = rf"'properties\.{PROVIDER}' = 'tokens_.*:read': the function raised JSONDecodeError in tokens_.*py, line "
    with pytest.raises(AuthenticationError, match=error) as e:
        next(read_records(config, Split("open-function", 0, 0, 1), client=client))
    with pytest.raises(AuthenticationError, match=error):
        Cluster(config).topics()
    assert time.monotonic() - started < 5
    assert "planted-4711" not in str(e.value)


def test_a_token_that_the_broker_rejects(tokens: TokenFile) -> None:
    content = json.dumps(["planted-4711", time.time() + 300])
    (tokens.folder / "token").write_text(content)
    config = to_librdkafka(tokens.properties)
    with pytest.raises(
        AuthenticationError, match=rf"Check the tokens of 'properties\.{PROVIDER}' = 'tokens_.*:read'"
    ) as e:
        Cluster(config).topics()
    assert "planted-4711" not in str(e.value)


def test_functions_run_in_the_workers_of_spark(secured: SecuredBroker, tokens: TokenFile, sql: Any, spark: Any) -> None:
    topic = secured.topics.create_named("open-spark")
    spark.addArtifact(str(tokens.module), pyfile=True)
    sql(f"CREATE TEMPORARY TABLE t (a INT) {secured.table(tokens.properties, topic)}")
    sql("INSERT INTO t VALUES (1), (2)")
    assert sorted(sql("SELECT a FROM t").collect()) == [(1,), (2,)]
    processes = tokens.processes()
    assert processes
    assert os.getpid() not in processes
    plan = sql("EXPLAIN SELECT a FROM t").collect()[0][0]
    assert not any(part in plan for part in tokens.token.split("."))
