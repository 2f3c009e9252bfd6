"""Test that a statement inherits secrets only for the destination, and the protection, that their author declared."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from kafka_sql.errors import MissingOptionError
from kafka_sql.formats.custom import CustomFormat, Decoder, Option, Options, string
from kafka_sql.formats.registry import FORMATS
from kafka_sql.inherited_secrets import check_inherited_secrets
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES, Handling
from kafka_sql.kafka.config.librdkafka_properties import ALLOWED_OPTIONS
from kafka_sql.kafka.config.token_providers import OWN_PROPERTIES
from kafka_sql.options.connector import DYNAMIC_OPTIONS, KAFKA_OPTIONS, UPSERT_OPTIONS

CLUSTER = {
    "connector": "kafka",
    "topic": "t",
    "format": "json",
    "properties.bootstrap.servers": "broker:9093",
    "properties.security.protocol": "SASL_SSL",
    "properties.sasl.mechanism": "SCRAM-SHA-256",
    "properties.ssl.truststore.location": "/trust.jks",
}
SECRETS = {
    "properties.sasl.jaas.config": "PlainLoginModule ...",
    "properties.sasl.password": "hunter2",
    "properties.sasl.oauthbearer.client.secret": "hunter2",
    "properties.sasl.oauthbearer.client.credentials.client.secret": "hunter2",
    "properties.sasl.oauthbearer.assertion.private.key.passphrase": "hunter2",
    "properties.sasl.oauthbearer.assertion.file": "/token",
    "properties.sasl.oauthbearer.config": "principal=x",
    "properties.sasl.oauthbearer.extensions": "a=b",
    "properties.sasl.kerberos.keytab": "/keytab",
    "properties.ssl.key.password": "hunter2",
    "properties.ssl.keystore.location": "/key.jks",
    "properties.ssl.keystore.password": "hunter2",
    "properties.ssl.keystore.key": "-----BEGIN",
    "properties.ssl.key.pem": "-----BEGIN",
    "properties.ssl.key.location": "/key.pem",
    "properties.ssl.truststore.password": "hunter2",
    "properties.sasl.username": "${env:USER}",
    "properties.client.id": "a-${file:/secrets:id}",
}
SENT_ELSEWHERE = {
    "properties.bootstrap.servers": "other:9093",
    "properties.metadata.broker.list": "other:9093",
    "properties.client.dns.lookup": "resolve_canonical_bootstrap_servers_only",
    "properties.security.protocol": "SASL_PLAINTEXT",
    "properties.sasl.mechanism": "PLAIN",
    "properties.sasl.mechanisms": "PLAIN",
    "properties.sasl.oauthbearer.method": "oidc",
    "properties.sasl.oauthbearer.token.endpoint.url": "https://other/token",
    "properties.sasl.oauthbearer.metadata.authentication.type": "azure_imds",
    "properties.sasl.oauthbearer.token-provider": "other:function",
    "properties.sasl.client.callback.handler.class": "IAMClientCallbackHandler",
    "properties.sasl.login.callback.handler.class": "OAuthBearerLoginCallbackHandler",
    "properties.enable.ssl.certificate.verification": "false",
    "properties.ssl.endpoint.identification.algorithm": "",
    "properties.ssl.truststore.location": "/other.jks",
    "properties.ssl.truststore.certificates": "-----BEGIN",
    "properties.ssl.ca.location": "/other.pem",
    "properties.ssl.ca.pem": "-----BEGIN",
    "properties.ssl.cipher.suites": "NULL",
    "properties.https.ca.location": "/other.pem",
    "connector": "dynamic-kafka",
    "metadata-service": "other:service",
    "metadata-service.cluster-id": "other",
    "stream-ids": "other",
    "stream-pattern": "other",
}


def check(base: dict[str, str], changes: dict[str, str]) -> None:
    check_inherited_secrets(base, base | changes, changes)


def is_refused(base: dict[str, str], changes: dict[str, str]) -> bool:
    try:
        check(base, changes)
    except MissingOptionError:
        return True
    return False


def test_secrets_are_not_sent_elsewhere() -> None:
    wrong = []
    for (secret, value), (changed, new) in itertools.product(SECRETS.items(), SENT_ELSEWHERE.items()):
        base, change = {**CLUSTER, secret: value}, {changed: new}
        without = {key: value for key, value in base.items() if key != secret}
        if not is_refused(base, change) or is_refused(base, {**change, secret: value}) or is_refused(without, change):
            wrong.append((secret, changed))
    assert wrong == []


def test_the_error_names_the_change_and_the_secret() -> None:
    secret, changed = "properties.sasl.password", "properties.bootstrap.servers"
    with pytest.raises(MissingOptionError) as raised:
        check({**CLUSTER, secret: "hunter2"}, {changed: "other:9093"})
    assert str(raised.value) == (
        f"[MISSING_OPTION] Option '{changed}' changes where the table's secrets are sent or how they are protected, so "
        f"they are not inherited. The statement must set them, too: '{secret}'."
    )
    assert raised.value.option == secret


def test_every_inherited_secret_must_be_set() -> None:
    base = {**CLUSTER, "properties.sasl.password": "p", "properties.ssl.key.password": "k"}
    with pytest.raises(MissingOptionError, match=r"must set them, too: 'properties\.ssl\.key\.password'\.$"):
        check(base, {"properties.bootstrap.servers": "other:1", "properties.sasl.password": "p"})


@pytest.mark.parametrize(
    "change",
    [
        {"topic": "u", "scan.startup.mode": "earliest-offset"},
        {"properties.group.id": "g", "properties.client.rack": "r", "properties.debug": "all"},
        {"properties.bootstrap.servers": "broker:9093"},
        {"properties.security.protocol": " sasl_ssl"},
        {"properties.sasl.mechanism": "SCRAM-SHA-512"},
        {"properties.ssl.endpoint.identification.algorithm": "HTTPS"},
        {"properties.enable.ssl.certificate.verification": "true"},
        {"properties.sasl.username": "bob"},
        {"properties.sasl.oauthbearer.client.id": "bob"},
        {"properties.sasl.password": "other"},
        {"format": "avro-confluent", "avro-confluent.url": "http://registry"},
        {"connector": "upsert-kafka", "value.format": "json"},
    ],
)
def test_other_changes_keep_the_secrets(change: dict[str, str]) -> None:
    check({**CLUSTER, "properties.sasl.password": "hunter2", "properties.sasl.jaas.config": "Plain"}, change)


@pytest.mark.parametrize(
    ("key", "old", "new", "is_kept"),
    [
        ("security.protocol", "SASL_PLAINTEXT", "SASL_SSL", True),
        ("security.protocol", "SASL_SSL", "SSL", False),
        ("security.protocol", None, "PLAINTEXT", True),
        ("security.protocol", None, "SASL_PLAINTEXT", False),
        ("security.protocol", "${env:PROTOCOL}", "SASL_SSL", False),
        ("security.protocol", "SASL_SSL", "${env:PROTOCOL}", False),
        ("sasl.mechanism", "PLAIN", "SCRAM-SHA-512", True),
        ("sasl.mechanism", "SCRAM-SHA-512", "SCRAM-SHA-256", False),
        ("sasl.mechanism", "SCRAM-SHA-512", "OAUTHBEARER", False),
        ("sasl.mechanism", None, "PLAIN", False),
        ("ssl.endpoint.identification.algorithm", "", "https", True),
        ("ssl.endpoint.identification.algorithm", "none", "", True),
        ("ssl.endpoint.identification.algorithm", None, "none", False),
        ("enable.ssl.certificate.verification", "false", "true", True),
        ("enable.ssl.certificate.verification", "true", "f", False),
    ],
)
def test_stronger_protection_keeps_the_secrets(key: str, old: str | None, new: str, is_kept: bool) -> None:
    name = f"properties.{key}"
    base = {"properties.sasl.password": "hunter2"} | ({} if old is None else {name: old})
    if is_kept:
        check(base, {name: new})
    else:
        with pytest.raises(MissingOptionError, match=f"Option '{name}' changes"):
            check(base, {name: new})


@pytest.mark.parametrize("removed", ["security.protocol", "sasl.mechanism", "ssl.truststore.location"])
def test_removed_protection(removed: str) -> None:
    base = {**CLUSTER, "properties.sasl.password": "hunter2"}
    keys = [f"properties.{removed}"]
    left = {key: value for key, value in base.items() if key not in keys}
    with pytest.raises(MissingOptionError, match=r"must reset them, too: 'properties\.sasl\.password'\.$"):
        check_inherited_secrets(base, left, keys, verb="reset")
    left.pop("properties.sasl.password")
    check_inherited_secrets(base, left, [*keys, "properties.sasl.password"], verb="reset")


REGISTRIES = [
    prefix + name
    for name, format_ in ((name, FORMATS[name]) for name in FORMATS)
    if any(option.key == f"{name}.url" for option in format_.options)
    for prefix in ("", "key.", "value.")
]


CREDENTIALS_OF_A_REGISTRY = {
    "basic-auth.user-info": "u:p",
    "bearer-auth.token": "t",
    "properties.basic.auth.user.info": "u:p",
    "properties.bearer.auth.token": "t",
    "properties.request.header.Cookie": "c",
    "ssl.keystore.password": "p",
    "ssl.keystore.location": "/key.jks",
    "properties.schema.registry.ssl.keystore.location": "/key.jks",
}
DESTINATIONS_OF_A_REGISTRY = (
    "url",
    "schema-registry.url",
    "ssl.truststore.location",
    "properties",
    "properties.schema.registry.ssl.truststore.location",
    "properties.request.header.Host",
    "properties.an.entry.of.a.later.version",
)


def test_credentials_of_a_registry() -> None:
    wrong = []
    for registry, (secret, value) in itertools.product(REGISTRIES, CREDENTIALS_OF_A_REGISTRY.items()):
        key, url = f"{registry}.{secret}", f"{registry}.url"
        base = {url: "https://registry", key: value, "properties.sasl.password": "p"}
        for changed in DESTINATIONS_OF_A_REGISTRY:
            try:
                check(base, {f"{registry}.{changed}": "other"})
                wrong.append((key, changed))
            except MissingOptionError as e:
                if e.option != key or f"Option '{registry}.{changed}' changes" not in str(e):
                    wrong.append((key, changed))
        kept = (
            {url: "https://other", key: value},
            {f"{registry}.subject": "s", f"{registry}.properties.auto.register.schemas": "false"},
            {f"{registry}.basic-auth.credentials-source": "USER_INFO", "other-confluent.url": "https://other"},
        )
        wrong += [(key, str(changes)) for changes in kept if is_refused(base, changes)]
    assert wrong == []


def test_user_info_of_a_url() -> None:
    base = {"avro-confluent.url": "https://u:p@registry"}
    with pytest.raises(MissingOptionError, match=r"ssl\.truststore\.location' .* too: 'avro-confluent\.url'"):
        check(base, {"avro-confluent.ssl.truststore.location": "/other.jks"})
    check(base, {"avro-confluent.url": "https://other"})  # without the user info


@pytest.mark.parametrize(
    ("key", "value", "is_secret"),
    [
        ("sasl.oauthbearer.token-provider", "tokens:create", True),
        ("sasl.oauthbearer.metadata.authentication.type", "azure_imds", True),
        ("sasl.login.callback.handler.class", "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler", True),
        ("sasl.client.callback.handler.class", "software.amazon.msk.auth.iam.IAMClientCallbackHandler", True),
        ("sasl.login.callback.handler.class", "o.a.k.OAuthBearerLoginCallbackHandler ", False),
    ],
)
def test_tokens_are_not_sent_elsewhere(key: str, value: str, is_secret: bool) -> None:
    base, other = {**CLUSTER, f"properties.{key}": value}, {"properties.bootstrap.servers": "other:9093"}
    if is_secret:
        with pytest.raises(MissingOptionError, match=f"must set them, too: 'properties.{key}'"):
            check(base, other)
    else:
        check(base, other)
    check(base, {**other, f"properties.{key}": value})


DYNAMIC = {
    "connector": "dynamic-kafka",
    "metadata-service": "shop:service",
    "stream-ids": "orders",
    "properties.sasl.password": "p",
}


@pytest.mark.parametrize("changed", ["metadata-service", "stream-ids", "stream-pattern"])
def test_a_metadata_service_gets_secrets_and_names_brokers(changed: str) -> None:
    with pytest.raises(MissingOptionError, match=f"Option '{changed}' changes .* too: 'properties.sasl.password'"):
        check(DYNAMIC, {changed: "other:service"})
    with pytest.raises(MissingOptionError, match="Option 'connector' changes"):
        check(DYNAMIC, {"connector": "kafka", "topic": "t"})
    check(DYNAMIC, {changed: "other:service", "properties.sasl.password": "other"})


def test_streams_of_a_single_cluster_are_topics() -> None:
    base = {**DYNAMIC, "metadata-service": "single-cluster"}
    check(base, {"stream-ids": "returns"})
    with pytest.raises(MissingOptionError, match="Option 'metadata-service' changes"):
        check(base, {"stream-ids": "returns", "metadata-service": "other:service"})


class Lines(CustomFormat):
    contract_version = 1
    identifier = "lines"
    options: ClassVar[tuple[Option[Any], ...]] = (
        string("lines.url", ""),
        string("lines.token", ""),
        string("lines.separator", ""),
    )

    def create_decoder(self, schema: pa.Schema, options: Options) -> Decoder:
        raise NotImplementedError


class Numbers(Lines):
    identifier = "numbers"
    options = (
        string("numbers.url", "", is_destination=True),
        string("numbers.token", ""),
        string("numbers.password", ""),
        string("numbers.separator", ""),
    )


@pytest.mark.parametrize(("key", "prefix"), [("format", ""), ("value.format", "value."), ("key.format", "key.")])
def test_secrets_of_a_custom_format(key: str, prefix: str) -> None:
    name = prefix + "numbers"
    base = {key: f"{__name__}:Numbers", f"{name}.url": "https://a", f"{name}.token": "t", f"{name}.separator": ","}
    for changed, value in ((f"{name}.url", "https://b"), (key, f"{__name__}:Lines")):
        with pytest.raises(MissingOptionError, match=f"Option '{changed}' changes .* too: '{name}.token'"):
            check(base, {changed: value})
    check(base, {f"{name}.separator": ";", f"{name}.password": "p"})
    check(base, {f"{name}.url": "https://b", f"{name}.token": "other"})
    check(base, {f"other.{name}.url": "https://b", "topic": "u", "properties.bootstrap.servers": "other:9093"})


@pytest.mark.parametrize("format_", [f"{__name__}:Lines", "missing_module:Lines", f"{__name__}:Numbers"])
def test_a_custom_format_that_declares_no_destination(format_: str) -> None:
    base = {"format": format_, "lines.url": "https://a", "lines.token": "t", "lines.separator": "x"}
    for changed in ("lines.url", "lines.separator", "lines.new"):
        with pytest.raises(MissingOptionError, match=f"Option '{changed}' changes .* too: 'lines.token'"):
            check(base, {changed: "other"})
    check(base, {"lines.token": "other", "lines.separator": "y"})


# Options without effect on where secrets are sent, and how. A new one is added here or is a destination.
NO_DESTINATIONS = frozenset(
    """
    client.id.prefix commit.offsets.on.checkpoint computed-columns.fallback error-handling.log.target
    error-handling.mode format key.fields key.fields-prefix key.format partition.discovery.interval.ms
    properties.client.id.prefix properties.commit.offsets.on.checkpoint properties.group.id
    properties.partition.discovery.interval.ms properties.register.consumer.metrics
    properties.register.producer.metrics register.consumer.metrics register.producer.metrics scan.batch.max-bytes
    scan.batch.max-rows scan.bounded.mode scan.bounded.specific-offsets scan.bounded.timestamp-millis scan.client
    scan.fail-on-data-loss scan.max-bytes-per-trigger scan.max-offsets-per-trigger scan.max-trigger-delay
    scan.min-offsets-per-trigger scan.missing-topics scan.parallelism scan.partitions scan.rack-id scan.startup.mode
    scan.startup.offsets-initializer scan.startup.specific-offsets scan.startup.timestamp-millis
    scan.topic-partition-discovery.interval scan.watermark.alignment.enabled scan.watermark.alignment.group
    scan.watermark.alignment.max-drift scan.watermark.alignment.update-interval scan.watermark.emit.strategy
    scan.watermark.idle-timeout sink.allow-new-checkpoint sink.buffer-flush.interval sink.buffer-flush.max-rows
    sink.client sink.delivery-guarantee sink.parallelism sink.partitioner sink.semantic sink.topic.create
    sink.topic.partitions sink.topic.replication-factor sink.transaction-naming-strategy
    sink.transactional-id-prefix stream-enumerator-mode stream-metadata-discovery-failure-threshold
    stream-metadata-discovery-interval-ms topic topic-pattern value.fields-include value.format
    """.split()  # noqa: SIM905
)
NO_DESTINATIONS_OF_FORMATS = frozenset(
    """
    allow-comments allow-trailing-comma array-element-delimiter basic-auth.credentials-source basic-auth.user-info
    bearer-auth.credentials-source bearer-auth.token charset codec database.include decode.json-parser.enabled
    descriptor-file disable-quote-character empty-string-as-null encode.decimal-as-plain-number
    encode.ignore-null-fields encoding endianness escape-character fail-on-missing-columns fail-on-missing-field
    field-delimiter ignore-parse-errors ignore-trailing-unmappable line-delimiter map-null-key.literal
    map-null-key.mode message-class-name null-literal open.fastread proto-file proto-path quote-character
    read-default-values schema schema-include schema-registry.schema schema-registry.subject ssl.keystore.location
    ssl.keystore.password ssl.truststore.password subject table.include timestamp-format.standard
    timestamp_mapping.legacy trim-spaces write-bigdecimal-in-scientific-notation write-null-string-literal
    """.split()  # noqa: SIM905
)


def test_every_option_is_a_destination_or_classified() -> None:
    connectors = {o.key: o for o in (*KAFKA_OPTIONS, *UPSERT_OPTIONS, *DYNAMIC_OPTIONS)}.values()
    assert {key for o in connectors if not o.is_destination for key in o.keys} == NO_DESTINATIONS
    keys = {key: name for name in FORMATS for o in FORMATS[name].options if not o.is_destination for key in o.keys}
    assert {key.removeprefix(f"{name}.") for key, name in keys.items()} == NO_DESTINATIONS_OF_FORMATS


def test_there_is_a_registry_to_test() -> None:
    assert {"avro-confluent", "key.json-confluent", "value.debezium-avro-confluent"} <= set(REGISTRIES)


# Properties of clients without effect on where secrets are sent, and how. A new one is added here or protects secrets.
UNRELATED = (
    *("acks", "allow.", "api.", "auto.", "batch.", "broker.", "buffer.", "check.", "client.id", "client.rack"),
    *("compression.", "connections.", "consume.", "coordinator.", "debug", "default.", "delivery.", "enable.auto"),
    *("enable.gapless", "enable.idempotence", "enable.metrics", "enable.partition", "enable.random", "fetch."),
    *("group.", "heartbeat.", "isolation.", "linger.", "log.", "log_level", "max.", "message.", "metadata.max"),
    *("metadata.recovery", "partitioner", "produce.", "queu", "receive.", "reconnect.", "request.", "retries"),
    *("retry.", "send.", "session.", "socket.", "statistics.", "sticky.", "topic.", "transaction."),
)


def client_properties() -> list[str]:
    java = [p.key for p in JAVA_PROPERTIES.values() if p.handling not in (Handling.IGNORED, Handling.REJECTED)]
    return sorted({*java, *OWN_PROPERTIES, *ALLOWED_OPTIONS})


def test_every_property_of_clients_is_classified() -> None:
    base = {"properties.sasl.password": "p", "properties.bootstrap.servers": "h:1"}
    identity = ("sasl.username", "sasl.kerberos.principal", "sasl.oauthbearer.client", "ssl.certificate.", "ssl.key")
    secrets = ("keytab", "password", "config", "extensions", "assertion.file", "key.file", "passphrase", "key.pem")
    wrong = []
    for key in client_properties():
        is_unrelated = key.startswith((*UNRELATED, *identity)) or key.endswith(secrets)
        try:
            check(base, {f"properties.{key}": "x"})
            is_checked = False
        except MissingOptionError as e:
            is_checked = e.option in base
        if is_checked is is_unrelated:
            wrong.append(key)
    assert wrong == []
