"""Every way to say who one is, and every way to be refused, on a real broker; without Spark."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
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
from kafka_sql.kafka.librdkafka.client import open_handle
from kafka_sql.kafka.librdkafka.producer_clients import open_producer
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.kafka.types import Split
from tests.certificates import STORE_PASSWORD, create_jks_store, create_trust_store, sign_certificate
from tests.secured_broker import OAUTH, PASSWORD, SCRAM, SecuredBroker

pytestmark = pytest.mark.integration
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
RW = (AclOperation.READ, AclOperation.WRITE)


@pytest.fixture(scope="module", autouse=True)
def _rights(secured: SecuredBroker) -> None:
    for user in ("user", "CN=user", "ANONYMOUS"):
        secured.allow(user, ResourceType.TOPIC, "open-*", *RW)
    secured.topics.create_named("open-topic")
    secured.topics.create_named("locked")


def works(properties: dict[str, str], topic: str = "open-topic") -> None:
    """A record goes there and back, and the own client of the protocol gets in, too."""
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


@pytest.mark.parametrize("listener", ["SASL", "BOTH"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_passwords_and_tokens(secured: SecuredBroker, listener: str, mechanism: str) -> None:
    works(secured.properties(listener, mechanism))


def test_a_user_and_a_password_as_librdkafka_has_them(secured: SecuredBroker) -> None:
    given = {k: v for k, v in secured.properties("SASL", "PLAIN").items() if "jaas" not in k}
    works({**given, "sasl.username": "user", "sasl.password": PASSWORD})


def test_tokens_by_the_names_of_kafka_4(secured: SecuredBroker) -> None:
    given = secured.properties("SASL", "OAUTHBEARER")
    del given["sasl.login.callback.handler.class"]
    works({
        **given,
        "sasl.jaas.config": f"{OAUTH} required;",
        "sasl.oauthbearer.client.credentials.client.id": "user",
        "sasl.oauthbearer.client.credentials.client.secret": PASSWORD,
        "sasl.oauthbearer.scope": "kafka",
    })  # fmt: skip


@pytest.mark.parametrize("listener", ["TLS", "MTLS"])
def test_certificates(secured: SecuredBroker, listener: str) -> None:
    works(secured.properties(listener))


@pytest.mark.parametrize("kind", ["JKS", "PKCS12", "PEM", "inline"])
def test_stores_of_every_kind(secured: SecuredBroker, kind: str, tmp_path: Path) -> None:
    given = {k: v for k, v in secured.properties("MTLS").items() if not k.startswith("ssl.")}
    trust, keys = tmp_path / "trust", tmp_path / "keys"
    if kind == "inline":
        given |= {
            "ssl.truststore.certificates": secured.root.pem.replace("\n", "\r\n"),
            "ssl.keystore.certificate.chain": secured.client.chain.replace("\n", "\r\n"),
            "ssl.keystore.key": secured.client.key("key-password").replace("\n", "\r\n"),
            "ssl.key.password": "key-password",
        }
    else:
        given |= {"ssl.truststore.location": str(trust), "ssl.keystore.location": str(keys)}
        given |= {"ssl.truststore.password": STORE_PASSWORD, "ssl.keystore.password": STORE_PASSWORD}
    if kind == "PEM":
        trust.write_text(secured.root.pem)
        keys.write_text(secured.client.key("key-password") + secured.client.chain)
        given["ssl.key.password"] = "key-password"
    elif kind == "JKS":
        create_trust_store(trust, secured.root, "JKS")
        create_jks_store(keys, secured.client, "key-password")
        given["ssl.key.password"] = "key-password"
    elif kind == "PKCS12":
        create_trust_store(trust, secured.root, "PKCS12")
        keys.write_bytes(secured.client.p12())
    works(given)


def test_librdkafkas_own_files(secured: SecuredBroker, tmp_path: Path) -> None:
    names = {"ca": secured.root.pem, "certificate": secured.client.chain, "key": secured.client.key()}
    for name, text in names.items():
        (tmp_path / name).write_text(text)
    given = {k: v for k, v in secured.properties("MTLS").items() if not k.startswith("ssl.")}
    works(given | {f"ssl.{name}.location": str(tmp_path / name) for name in names})


def test_the_host_name_is_checked_unless_that_is_off(secured: SecuredBroker) -> None:
    works({**secured.properties("ELSEWHERE"), "ssl.endpoint.identification.algorithm": ""})


# -- refusals: all asked at once, as each takes a second or two ------------------------------------------------------


@dataclass(frozen=True)
class Refused:
    """How a client is refused.

    Attributes:
        change: Java's properties, changed.
        words: of the error, in their order.
    """

    change: Callable[[SecuredBroker, Path], dict[str, str]]
    kind: type[KafkaSqlError]
    words: tuple[str, ...]


def _wrong_password(mechanism: str) -> Callable[[SecuredBroker, Path], dict[str, str]]:
    return lambda s, _: {
        **s.properties("SASL", mechanism),
        "sasl.jaas.config": s.jaas(mechanism, password="planted-4711"),
    }


def _client(s: SecuredBroker, days: tuple[int, int] = (-1, 30), foreign: bool = False) -> dict[str, str]:
    party = sign_certificate(s.other if foreign else s.root, "user", days=days)
    return {
        **s.properties("MTLS"),
        "ssl.keystore.certificate.chain": party.chain,
        "ssl.keystore.key": party.key(),
    }


_LOOK = "Check 'properties.sasl.jaas.config'"
REFUSALS = {
    "wrong password, PLAIN": Refused(_wrong_password("PLAIN"), AuthenticationError, ("Invalid username or", _LOOK)),
    "wrong password, SCRAM": Refused(
        _wrong_password("SCRAM-SHA-512"), AuthenticationError, ("invalid credentials with SASL mechanism SCRAM", _LOOK)
    ),
    "wrong secret of a token endpoint": Refused(
        _wrong_password("OAUTHBEARER"),
        AuthenticationError,
        ("invalid_client", "Check 'properties.sasl.oauthbearer.token.endpoint.url', and clientId"),
    ),
    "no token endpoint": Refused(
        lambda s, _: {
            **s.properties("SASL", "OAUTHBEARER"),
            "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
        },
        AuthenticationError,
        ("OAUTHBEARER token", "Check 'properties.sasl.oauthbearer.token.endpoint.url'"),
    ),
    "unknown mechanism": Refused(
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
    "expired broker": Refused(
        lambda s, _: s.properties("EXPIRED"),
        AuthenticationError,
        ("the broker's certificate is rejected: certificate has expired", "Renew it on the broker"),
    ),
    "foreign broker": Refused(
        lambda s, _: {**s.properties("TLS"), "ssl.truststore.certificates": s.other.pem},
        AuthenticationError,
        ("unable to get local issuer", "signed by CN=between", "Check 'properties.ssl.truststore.location'"),
    ),
    "wrong host name": Refused(
        lambda s, _: s.properties("ELSEWHERE"),
        AuthenticationError,
        ("Hostname mismatch", "for broker.example", "'properties.ssl.endpoint.identification.algorithm' = ''"),
    ),
    "expired client": Refused(
        lambda s, _: _client(s, days=(-10, -3)),
        AuthenticationError,
        ("rejects the client's certificate: it has expired", "'properties.ssl.keystore.*'"),
    ),
    "foreign client": Refused(
        lambda s, _: _client(s, foreign=True),
        AuthenticationError,
        ("does not trust its issuer", "signed by CN=other", "Check 'properties.ssl.keystore.*'"),
    ),
    "client without a certificate": Refused(
        lambda s, _: {k: v for k, v in s.properties("MTLS").items() if "keystore" not in k},
        AuthenticationError,
        ("none was sent, and the listener requires one", "'properties.ssl.keystore.location'"),
    ),
    "no TLS where there is some": Refused(
        lambda s, _: {"bootstrap.servers": s.server("TLS"), "socket.connection.setup.timeout.ms": "2000"},
        BrokerUnreachableError,
        ("connections are closed immediately: the listener may use another 'properties.security.protocol'",),
    ),
    "TLS where there is none": Refused(
        lambda s, _: {
            **s.properties("TLS"),
            "bootstrap.servers": s.kafka.bootstrap_servers,
            "socket.connection.setup.timeout.ms": "2000",
        },
        BrokerUnreachableError,
        ("connecting to a PLAINTEXT broker listener?", "'properties.security.protocol'"),
    ),
}


@pytest.fixture(scope="module")
def refused(secured: SecuredBroker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, KafkaSqlError | None]:
    """What came of each."""
    folder = tmp_path_factory.mktemp("refused")

    def ask(case: Refused) -> KafkaSqlError | None:
        try:
            Cluster(to_librdkafka(case.change(secured, folder))).topics()
        except KafkaSqlError as e:
            return e
        return None

    with ThreadPoolExecutor(len(REFUSALS)) as pool:
        return dict(zip(REFUSALS, pool.map(ask, REFUSALS.values()), strict=True))


@pytest.mark.parametrize("name", REFUSALS)
def test_refused(name: str, refused: dict[str, KafkaSqlError | None]) -> None:
    error, case = refused[name], REFUSALS[name]
    assert type(error) is case.kind
    message = str(error)
    places = [message.find(words) for words in case.words]
    assert -1 not in places, message
    assert places == sorted(places), message
    assert "planted-4711" not in message


def test_refusals_while_records_are_read_and_written(secured: SecuredBroker) -> None:
    config = to_librdkafka(_wrong_password("SCRAM-SHA-256")(secured, Path()))

    def read() -> None:
        list(read_records(config, Split("open-topic", 0, 0, 1)))

    def write() -> None:
        with open_producer(config, "open-topic") as producer:
            producer.produce(pa.array([b"x"], pa.binary()))
            producer.flush()

    with ThreadPoolExecutor(2) as pool:
        for answer in [pool.submit(read), pool.submit(write)]:
            with pytest.raises(AuthenticationError, match=r"invalid credentials.*Check 'properties.sasl.jaas.config'"):
                answer.result()


def test_a_store_is_looked_at_before_anything_is_sent(secured: SecuredBroker, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("words")
    config = to_librdkafka({**secured.properties("TLS"), "ssl.truststore.certificates": ""})
    config |= {"ssl.truststore.location": str(tmp_path / "words"), "bootstrap.servers": "127.0.0.1:1"}
    for make in (lambda: Cluster(config), lambda: open_handle(0, config).__enter__()):
        with pytest.raises(KafkaSqlError, match=r"'properties.ssl.truststore.location': file '.*': it is not a store"):
            make()


# -- rights ----------------------------------------------------------------------------------------------------------


def test_not_authorised_is_told_from_not_found(secured: SecuredBroker) -> None:
    cluster = Cluster(to_librdkafka(secured.properties("SASL", "PLAIN")))
    with pytest.raises(
        AuthorizationError, match=r"Topic 'locked' .*is not authorized to see it. Grant the user DESCRIBE"
    ):
        cluster.partitions(("locked",))
    with pytest.raises(TopicNotFoundError, match=r"Topic 'open-topik' does not exist .* Did you mean 'open-topic'"):
        cluster.partitions(("open-topik",))


def test_rights_on_a_topic(secured: SecuredBroker) -> None:
    secured.topics.create_named("seen")
    secured.allow("user", ResourceType.TOPIC, "seen", AclOperation.DESCRIBE)
    config = to_librdkafka(secured.properties("SASL", "PLAIN"))
    secured.topics.put("seen", b"x")
    with pytest.raises(AuthorizationError, match=r"seen\[0\]@0: .*Grant the user READ on the topic"):
        list(read_records(config, Split("seen", 0, 0, 1)))

    def write() -> None:
        with open_producer(config, "seen") as producer:
            producer.produce(pa.array([b"x"], pa.binary()))
            producer.flush()

    with pytest.raises(AuthorizationError, match=r"seen.*Grant the user .*WRITE on the topic"):
        write()


def test_rights_on_a_group(secured: SecuredBroker) -> None:
    cluster = Cluster(to_librdkafka(secured.properties("SASL", "PLAIN")))
    with pytest.raises(
        AuthorizationError, match=r"GROUP_AUTHORIZATION_FAILED.*READ on the group of 'properties.group.id'"
    ):
        cluster.committed("locked-group", [("open-topic", 0)])
    with pytest.raises(AuthorizationError, match=r"READ on the group of 'properties.group.id'"):
        cluster.commit("locked-group", {("open-topic", 0): 1}).result(30)


def test_rights_on_the_cluster(secured: SecuredBroker) -> None:
    cluster = Cluster(to_librdkafka(secured.properties("SASL", "PLAIN")))
    with pytest.raises(
        AuthorizationError, match=r"topic 'new' cannot be created .*Grant the user CREATE on the topic or"
    ):
        ensure_topics(cluster, ("new",), TopicSettings(1, 1, {}), "t", {})


# -- rotation --------------------------------------------------------------------------------------------------------


def test_a_password_that_is_changed_is_taken_up(secured: SecuredBroker, tmp_path: Path) -> None:
    secured.set_password("changing", "first-password")
    secured.allow("changing", ResourceType.TOPIC, "open-*", *RW)
    file = tmp_path / "secrets.properties"
    file.write_text("password=first-password\n")
    jaas = f'{SCRAM} required username="changing" password="${{file:{file}:password}}";'
    given = {**secured.properties("SASL", "SCRAM-SHA-256"), "sasl.jaas.config": jaas}
    cluster = Cluster(to_librdkafka(given))
    assert "open-topic" in cluster.topics()
    first = cluster.admin()
    assert "open-topic" in cluster.topics()
    assert cluster.admin() is first  # nothing has changed
    secured.set_password("changing", "second-password")
    file.write_text("password=second-password\n")
    assert "open-topic" in cluster.topics()
    assert cluster.admin() is not first


def test_a_certificate_that_is_changed_is_taken_up(secured: SecuredBroker, tmp_path: Path) -> None:
    file = tmp_path / "client.pem"
    given = {k: v for k, v in secured.properties("MTLS").items() if "keystore" not in k}
    config = to_librdkafka({**given, "ssl.keystore.location": str(file)})
    makings = [sign_certificate(secured.root, "user"), sign_certificate(secured.other, "user")]
    file.write_text(makings[0].key() + makings[0].chain)
    cluster = Cluster(config)
    assert "open-topic" in cluster.topics()
    file.write_text(makings[1].key() + makings[1].chain)
    with pytest.raises(AuthenticationError, match="does not trust its issuer"):
        cluster.topics()
