"""All authentication mechanisms and their failures on a real broker, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation, ResourceType

from kafka_sql.errors import (
    AuthenticationError,
    AuthorizationError,
    BrokerUnreachableError,
    KafkaSqlError,
    TopicNotFoundError,
)
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.admin.topics import TopicSettings, ensure_topics
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.librdkafka.client import open_client
from kafka_sql.kafka.librdkafka.producer_clients import open_producer
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.kafka.split import Split
from tests.certificates import STORE_PASSWORD, create_jks_store, create_trust_store, sign_certificate
from tests.secured_broker import OAUTH, PASSWORD, SCRAM, SecuredBroker

pytestmark = pytest.mark.integration
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
READ_WRITE = (AclOperation.READ, AclOperation.WRITE)


@pytest.fixture(scope="module", autouse=True)
def _permissions(secured: SecuredBroker) -> None:
    for user in ("user", "CN=user", "ANONYMOUS"):
        secured.allow(user, ResourceType.TOPIC, "open-*", *READ_WRITE)
    secured.topics.create_named("open-topic")
    secured.topics.create_named("locked")


def check_access(properties: dict[str, str], topic: str = "open-topic") -> None:
    """Write and read a record, and connect with the protocol client."""
    config = to_librdkafka(properties)
    cluster = Cluster(config)
    end = cluster.latest(cluster.partitions((topic,)))[topic, 0]
    with open_producer(config, topic) as producer:
        producer.produce(pa.array([b"x"], pa.binary()))
        producer.flush()
    assert len(next(read_records(config, Split(topic, 0, end, end + 1))).offsets) == 1
    transactions = TransactionAdmin(config)
    assert transactions.list_ongoing("no such prefix") == []
    transactions.close()


@pytest.mark.sample(3)
@pytest.mark.parametrize("listener", ["SASL", "BOTH"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_passwords_and_tokens(secured: SecuredBroker, listener: str, mechanism: str) -> None:
    check_access(secured.properties(listener, mechanism))


def test_librdkafkas_user_name_and_password(secured: SecuredBroker) -> None:
    properties = {k: v for k, v in secured.properties("SASL", "PLAIN").items() if "jaas" not in k}
    check_access({**properties, "sasl.username": "user", "sasl.password": PASSWORD})


def test_tokens_with_properties_of_kafka_4(secured: SecuredBroker) -> None:
    properties = secured.properties("SASL", "OAUTHBEARER")
    del properties["sasl.login.callback.handler.class"]
    check_access({
        **properties,
        "sasl.jaas.config": f"{OAUTH} required;",
        "sasl.oauthbearer.client.credentials.client.id": "user",
        "sasl.oauthbearer.client.credentials.client.secret": PASSWORD,
        "sasl.oauthbearer.scope": "kafka",
    })  # fmt: skip


@pytest.mark.parametrize("listener", ["TLS", "MTLS"])
def test_certificates(secured: SecuredBroker, listener: str) -> None:
    check_access(secured.properties(listener))


@pytest.mark.sample(2)
@pytest.mark.parametrize("store_type", ["JKS", "PKCS12", "PEM", "inline"])
def test_store_types(secured: SecuredBroker, store_type: str, tmp_path: Path) -> None:
    properties = {k: v for k, v in secured.properties("MTLS").items() if not k.startswith("ssl.")}
    trust, keys = tmp_path / "trust", tmp_path / "keys"
    if store_type == "inline":
        properties |= {
            "ssl.truststore.certificates": secured.root.pem.replace("\n", "\r\n"),
            "ssl.keystore.certificate.chain": secured.client.chain.replace("\n", "\r\n"),
            "ssl.keystore.key": secured.client.key("key-password").replace("\n", "\r\n"),
            "ssl.key.password": "key-password",
        }
    else:
        properties |= {"ssl.truststore.location": str(trust), "ssl.keystore.location": str(keys)}
        properties |= {"ssl.truststore.password": STORE_PASSWORD, "ssl.keystore.password": STORE_PASSWORD}
    if store_type == "PEM":
        trust.write_text(secured.root.pem)
        keys.write_text(secured.client.key("key-password") + secured.client.chain)
        properties["ssl.key.password"] = "key-password"
    elif store_type == "JKS":
        create_trust_store(trust, secured.root, "JKS")
        create_jks_store(keys, secured.client, "key-password")
        properties["ssl.key.password"] = "key-password"
    elif store_type == "PKCS12":
        create_trust_store(trust, secured.root, "PKCS12")
        keys.write_bytes(secured.client.p12())
    check_access(properties)


def test_certificate_files_of_librdkafka(secured: SecuredBroker, tmp_path: Path) -> None:
    names = {"ca": secured.root.pem, "certificate": secured.client.chain, "key": secured.client.key()}
    for name, text in names.items():
        (tmp_path / name).write_text(text)
    properties = {k: v for k, v in secured.properties("MTLS").items() if not k.startswith("ssl.")}
    check_access(properties | {f"ssl.{name}.location": str(tmp_path / name) for name in names})


def test_the_host_name_check_can_be_disabled(secured: SecuredBroker) -> None:
    check_access({**secured.properties("ELSEWHERE"), "ssl.endpoint.identification.algorithm": ""})


# -- failures: all at the same time, because each takes a second or two ------------------------------------------------


@dataclass(frozen=True)
class Failure:
    """A failed authentication.

    Attributes:
        properties: returns the client's properties.
        error_type: the expected error.
        fragments: of its message, in order.
    """

    properties: Callable[[SecuredBroker, Path], dict[str, str]]
    error_type: type[KafkaSqlError]
    fragments: tuple[str, ...]


def _wrong_password(mechanism: str) -> Callable[[SecuredBroker, Path], dict[str, str]]:
    return lambda s, _: {
        **s.properties("SASL", mechanism),
        "sasl.jaas.config": s.jaas(mechanism, password="planted-4711"),
    }


def _client_certificate(
    s: SecuredBroker, days: tuple[int, int] = (-1, 30), is_untrusted: bool = False
) -> dict[str, str]:
    client = sign_certificate(s.other if is_untrusted else s.root, "user", days=days)
    return {
        **s.properties("MTLS"),
        "ssl.keystore.certificate.chain": client.chain,
        "ssl.keystore.key": client.key(),
    }


_ADVICE = "Check 'properties.sasl.jaas.config'"
FAILURES = {
    "wrong password, PLAIN": Failure(_wrong_password("PLAIN"), AuthenticationError, ("Invalid username or", _ADVICE)),
    "wrong password, SCRAM": Failure(
        _wrong_password("SCRAM-SHA-512"),
        AuthenticationError,
        ("invalid credentials with SASL mechanism SCRAM", _ADVICE),
    ),
    "wrong secret of a token endpoint": Failure(
        _wrong_password("OAUTHBEARER"),
        AuthenticationError,
        ("invalid_client", "Check 'properties.sasl.oauthbearer.token.endpoint.url', and clientId"),
    ),
    "no token endpoint": Failure(
        lambda s, _: {
            **s.properties("SASL", "OAUTHBEARER"),
            "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
        },
        AuthenticationError,
        ("OAUTHBEARER token", "Check 'properties.sasl.oauthbearer.token.endpoint.url'"),
    ),
    "unknown mechanism": Failure(
        lambda s, _: {
            **s.properties("TLS"),
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": s.jaas("PLAIN"),
            "bootstrap.servers": s.server("ONLY_SCRAM"),
        },
        AuthenticationError,
        ("SCRAM-SHA-512", "Check 'properties.sasl.mechanism'"),
    ),
    "expired broker": Failure(
        lambda s, _: s.properties("EXPIRED"),
        AuthenticationError,
        ("the broker's certificate is rejected: certificate has expired", "Renew it on the broker"),
    ),
    "untrusted broker": Failure(
        lambda s, _: {**s.properties("TLS"), "ssl.truststore.certificates": s.other.pem},
        AuthenticationError,
        ("unable to get local issuer", "signed by CN=between", "Check 'properties.ssl.truststore.location'"),
    ),
    "wrong host name": Failure(
        lambda s, _: s.properties("ELSEWHERE"),
        AuthenticationError,
        ("Hostname mismatch", "hosts broker.example", "'properties.ssl.endpoint.identification.algorithm' = ''"),
    ),
    "expired client": Failure(
        lambda s, _: _client_certificate(s, days=(-10, -3)),
        AuthenticationError,
        ("rejects the client's certificate: it has expired", "'properties.ssl.keystore.*'"),
    ),
    "untrusted client": Failure(
        lambda s, _: _client_certificate(s, is_untrusted=True),
        AuthenticationError,
        ("does not trust its issuer", "signed by CN=other", "Check 'properties.ssl.keystore.*'"),
    ),
    "client without a certificate": Failure(
        lambda s, _: {k: v for k, v in s.properties("MTLS").items() if "keystore" not in k},
        AuthenticationError,
        ("none was sent, and the listener requires one", "'properties.ssl.keystore.location'"),
    ),
    "no TLS on a TLS listener": Failure(
        lambda s, _: {"bootstrap.servers": s.server("TLS"), "socket.connection.setup.timeout.ms": "2000"},
        BrokerUnreachableError,
        ("connections are closed immediately: the listener may use another 'properties.security.protocol'",),
    ),
    "TLS on a plaintext listener": Failure(
        lambda s, _: {
            **s.properties("TLS"),
            "bootstrap.servers": s.kafka.bootstrap_servers,
            "socket.connection.setup.timeout.ms": "2000",
        },
        BrokerUnreachableError,
        # 'connecting to a PLAINTEXT broker listener?', or connections are closed before the client has read anything
        (" listener", "'properties.security.protocol'"),
    ),
}


@pytest.fixture(scope="module")
def errors(secured: SecuredBroker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, KafkaSqlError | None]:
    """Try all failures, and return their errors."""
    folder = tmp_path_factory.mktemp("failures")

    def connect(case: Failure) -> KafkaSqlError | None:
        try:
            Cluster(to_librdkafka(case.properties(secured, folder))).topics()
        except KafkaSqlError as e:
            return e
        return None

    with ThreadPoolExecutor(len(FAILURES)) as pool:
        return dict(zip(FAILURES, pool.map(connect, FAILURES.values()), strict=True))


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", FAILURES)
def test_failure(name: str, errors: dict[str, KafkaSqlError | None]) -> None:
    error, case = errors[name], FAILURES[name]
    assert type(error) is case.error_type
    message = str(error)
    positions = [message.find(fragment) for fragment in case.fragments]
    assert -1 not in positions, message
    assert positions == sorted(positions), message
    assert "planted-4711" not in message


@pytest.mark.long
def test_failures_of_readers_and_writers(secured: SecuredBroker) -> None:
    config = to_librdkafka(_wrong_password("SCRAM-SHA-256")(secured, Path()))

    def read() -> None:
        list(read_records(config, Split("open-topic", 0, 0, 1)))

    def write() -> None:
        with open_producer(config, "open-topic") as producer:
            producer.produce(pa.array([b"x"], pa.binary()))
            producer.flush()

    with ThreadPoolExecutor(2) as pool:
        for result in [pool.submit(read), pool.submit(write)]:
            with pytest.raises(AuthenticationError, match=r"invalid credentials.*Check 'properties.sasl.jaas.config'"):
                result.result()


def test_stores_are_checked_before_anything_is_sent(secured: SecuredBroker, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    config = to_librdkafka({**secured.properties("TLS"), "ssl.truststore.certificates": ""})
    config |= {"ssl.truststore.location": str(tmp_path / "text"), "bootstrap.servers": "127.0.0.1:1"}
    for create in (lambda: Cluster(config), lambda: open_client(Producer, config)):
        with pytest.raises(KafkaSqlError, match=r"'properties.ssl.truststore.location': file '.*': it is not a store"):
            create()


# -- authorization -----------------------------------------------------------------------------------------------------


def test_unauthorized_topics_and_missing_topics(secured: SecuredBroker) -> None:
    cluster = Cluster(to_librdkafka(secured.properties("SASL", "PLAIN")))
    with pytest.raises(
        AuthorizationError, match=r"Topic 'locked' .*is not authorized to see it. Grant the user DESCRIBE"
    ):
        cluster.partitions(("locked",))
    with pytest.raises(TopicNotFoundError, match=r"Topic 'open-topik' does not exist .* Did you mean 'open-topic'"):
        cluster.partitions(("open-topik",))


def test_topic_permissions(secured: SecuredBroker) -> None:
    secured.topics.create_named("seen")
    secured.allow("user", ResourceType.TOPIC, "seen", AclOperation.DESCRIBE)
    config = to_librdkafka(secured.properties("SASL", "PLAIN"))
    secured.topics.produce("seen", b"x")
    with pytest.raises(AuthorizationError, match=r"seen\[0\]@0: .*Grant the user READ on the topic"):
        list(read_records(config, Split("seen", 0, 0, 1)))

    def write() -> None:
        with open_producer(config, "seen") as producer:
            producer.produce(pa.array([b"x"], pa.binary()))
            producer.flush()

    with pytest.raises(AuthorizationError, match=r"seen.*Grant the user .*WRITE on the topic"):
        write()


def test_group_permissions(secured: SecuredBroker) -> None:
    cluster = Cluster(to_librdkafka(secured.properties("SASL", "PLAIN")))
    with pytest.raises(
        AuthorizationError, match=r"GROUP_AUTHORIZATION_FAILED.*READ on the group of 'properties.group.id'"
    ):
        cluster.committed("locked-group", [("open-topic", 0)])
    with pytest.raises(AuthorizationError, match=r"READ on the group of 'properties.group.id'"):
        cluster.commit("locked-group", {("open-topic", 0): 1}).result(30)


def test_cluster_permissions(secured: SecuredBroker) -> None:
    cluster = Cluster(to_librdkafka(secured.properties("SASL", "PLAIN")))
    with pytest.raises(
        AuthorizationError, match=r"topic 'new' cannot be created .*Grant the user CREATE on the topic or"
    ):
        ensure_topics(cluster, ("new",), TopicSettings(1, 1, {}), "t", {})


# -- rotation --------------------------------------------------------------------------------------------------------


def test_a_changed_password_is_used(secured: SecuredBroker, tmp_path: Path) -> None:
    secured.set_password("changing", "first-password")
    secured.allow("changing", ResourceType.TOPIC, "open-*", *READ_WRITE)
    file = tmp_path / "secrets.properties"
    file.write_text("password=first-password\n")
    jaas = f'{SCRAM} required username="changing" password="${{file:{file}:password}}";'
    properties = {**secured.properties("SASL", "SCRAM-SHA-256"), "sasl.jaas.config": jaas}
    cluster = Cluster(to_librdkafka(properties))
    assert "open-topic" in cluster.topics()
    first = cluster.admin()
    assert "open-topic" in cluster.topics()
    assert cluster.admin() is first  # no change
    secured.set_password("changing", "second-password")
    file.write_text("password=second-password\n")
    assert "open-topic" in cluster.topics()
    assert cluster.admin() is not first


@pytest.mark.long
def test_a_changed_certificate_is_used(secured: SecuredBroker, tmp_path: Path) -> None:
    file = tmp_path / "client.pem"
    properties = {k: v for k, v in secured.properties("MTLS").items() if "keystore" not in k}
    config = to_librdkafka({**properties, "ssl.keystore.location": str(file)})
    certificates = [sign_certificate(secured.root, "user"), sign_certificate(secured.other, "user")]
    file.write_text(certificates[0].key() + certificates[0].chain)
    cluster = Cluster(config)
    assert "open-topic" in cluster.topics()
    file.write_text(certificates[1].key() + certificates[1].chain)
    with pytest.raises(AuthenticationError, match="does not trust its issuer"):
        cluster.topics()
