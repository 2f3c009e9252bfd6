"""Java's client properties as librdkafka's configuration."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

import pytest

from kafka_sql.errors import InvalidOptionError, UnknownOptionError, UnsupportedOptionError
from kafka_sql.kafka.admin.client import admin_config
from kafka_sql.kafka.config import librdkafka_properties
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES, Handling, Property
from kafka_sql.kafka.config.java_values import BOOLEAN, Decimals, Integers
from kafka_sql.kafka.config.librdkafka_properties import (
    ALLOWED_OPTIONS,
    REJECTED_OPTIONS,
    find_rejected,
    is_unknown,
    supports_kerberos,
)
from kafka_sql.kafka.config.properties import api_timeout, connect_timeout, resolve_config, to_librdkafka

SERVERS = {"bootstrap.servers": "localhost:9092"}


def test_javas_defaults() -> None:
    config = to_librdkafka(SERVERS)
    assert config["isolation.level"] == "read_uncommitted"
    assert config["check.crcs"] == "true"
    assert config["acks"] == "all"
    assert config["enable.idempotence"] == "true"
    assert config["partitioner"] == "murmur2_random"


def test_a_property_overrides_the_default() -> None:
    assert to_librdkafka({**SERVERS, "isolation.level": "read_committed"})["isolation.level"] == "read_committed"


# key, clients that have it (C, P), type, default and range in Apache Kafka 4.3
KAFKA = [line.split("\t") for line in (Path(__file__).parent / "java_properties.tsv").read_text().splitlines()]
JAVA_DEFAULTS = {
    key: default.strip("[]").replace("class ", "")
    for key, _, _, default, _ in KAFKA
    if default not in ("null", "<none>")
}


def test_every_java_property_is_in_the_table() -> None:
    assert set(JAVA_PROPERTIES) == {key for key, *_ in KAFKA} | {"bootstrap.controllers"}


@pytest.mark.parametrize("key", JAVA_DEFAULTS)
def test_every_java_default_is_accepted(key: str) -> None:
    to_librdkafka({**SERVERS, key: JAVA_DEFAULTS[key]})


def properties_with(handling: Handling) -> list[Property]:
    return [p for p in JAVA_PROPERTIES.values() if p.handling is handling]


# valid values of librdkafka's options that are neither numbers nor free text
VALUES = {
    "acks": "1",
    "allow.auto.create.topics": "false",
    "check.crcs": "false",
    "client.dns.lookup": "resolve_canonical_bootstrap_servers_only",
    "compression.type": "zstd",
    "enable.idempotence": "false",
    "enable.metrics.push": "false",
    "group.protocol": "consumer",
    "isolation.level": "read_committed",
    "max.in.flight.requests.per.connection": "3",
    "metadata.recovery.strategy": "none",
    "sasl.mechanism": "PLAIN",
    "sasl.oauthbearer.assertion.algorithm": "ES256",
    "sasl.oauthbearer.assertion.claim.jti.include": "true",
    **dict.fromkeys((f"compression.{codec}.level" for codec in ("gzip", "lz4", "zstd")), "2"),
    "sasl.oauthbearer.assertion.claim.nbf.seconds": "30",
    "sasl.login.refresh.window.jitter": "0.2",
    "security.protocol": "SSL",
    "sasl.oauthbearer.token.endpoint.url": "http://localhost:1/token",
}


TYPES = {key: type_name for key, _, type_name, *_ in KAFKA}


def value_of(java: Property) -> str:
    """Return a valid value, which is not the default."""
    numbers = {"INT": "20000", "LONG": "20000", "SHORT": "700", "DOUBLE": "0.7", "BOOLEAN": "false"}
    return VALUES.get(java.key) or numbers.get(TYPES.get(java.key, ""), "text")


@pytest.mark.parametrize("java", properties_with(Handling.SAME), ids=lambda p: p.key)
def test_same(java: Property) -> None:
    assert to_librdkafka({**SERVERS, java.key: value_of(java)})[java.key] == value_of(java)


@pytest.mark.parametrize("java", properties_with(Handling.RENAMED), ids=lambda p: p.key)
def test_renamed(java: Property) -> None:
    config = to_librdkafka({**SERVERS, java.key: value_of(java)})
    assert config[java.librdkafka_name] == value_of(java)
    assert java.key not in config


# key, Java's value, librdkafka's key and value
CONVERTED = [
    ("auto.offset.reset", "none", "auto.offset.reset", "error"),
    ("auto.offset.reset", "earliest", "auto.offset.reset", "earliest"),
    ("buffer.memory", "33554432", "queue.buffering.max.kbytes", "32768"),
    ("buffer.memory", "100", "queue.buffering.max.kbytes", "1"),
    ("connections.max.idle.ms", "-1", "connections.max.idle.ms", "0"),
    ("connections.max.idle.ms", "9223372036854775807", "connections.max.idle.ms", "2147483647"),
    ("fetch.max.bytes", "1000", "fetch.max.bytes", "1048576"),
    ("fetch.max.bytes", "2147483647", "fetch.max.bytes", "2147483135"),
    ("partitioner.ignore.keys", "true", "partitioner", "random"),
    ("partitioner.ignore.keys", "false", "partitioner", "murmur2_random"),
    ("ssl.endpoint.identification.algorithm", "", "ssl.endpoint.identification.algorithm", "none"),
    ("ssl.endpoint.identification.algorithm", "https", "ssl.endpoint.identification.algorithm", "https"),
    ("ssl.key.password", "text", "ssl.key.password", "text"),
    ("ssl.cipher.suites", "TLS_RSA_WITH_AES_128_GCM_SHA256", "ssl.cipher.suites", "AES128-GCM-SHA256"),
    ("ssl.enabled.protocols", "TLSv1.3", "ssl.cipher.suites", "PSK-AES128-GCM-SHA256"),
    ("batch.size", "0", "batch.size", "1"),
    ("fetch.min.bytes", "0", "fetch.min.bytes", "1"),
    ("max.partition.fetch.bytes", "2147483647", "max.partition.fetch.bytes", "1000000000"),
    ("max.poll.interval.ms", "2147483647", "max.poll.interval.ms", "86400000"),
    ("metadata.max.age.ms", "9223372036854775807", "metadata.max.age.ms", "86400000"),
    ("reconnect.backoff.max.ms", "9223372036854775807", "reconnect.backoff.max.ms", "3600000"),
    ("reconnect.backoff.ms", "0", "reconnect.backoff.ms", "0"),
    ("retry.backoff.max.ms", "0", "retry.backoff.max.ms", "1"),
    ("retry.backoff.ms", "0", "retry.backoff.ms", "1"),
    ("session.timeout.ms", "2147483647", "session.timeout.ms", "3600000"),
    ("socket.connection.setup.timeout.ms", "500", "socket.connection.setup.timeout.ms", "1000"),
    ("default.api.timeout.ms", "1500", "default.api.timeout.ms", "1500"),
    ("max.block.ms", "9223372036854775807", "max.block.ms", "9223372036854775807"),
    ("send.buffer.bytes", "-1", "socket.send.buffer.bytes", "0"),
    ("receive.buffer.bytes", "-1", "socket.receive.buffer.bytes", "0"),
    ("request.timeout.ms", "600000", "socket.timeout.ms", "300000"),
    ("max.request.size", "2147483647", "message.max.bytes", "1000000000"),
]


@pytest.mark.parametrize(
    ("key", "value", "librdkafka_key", "librdkafka_value"), CONVERTED, ids=lambda text: text or "empty"
)
def test_converted(key: str, value: str, librdkafka_key: str, librdkafka_value: str) -> None:
    assert to_librdkafka({**SERVERS, key: value})[librdkafka_key] == librdkafka_value


def test_every_conversion_is_tested() -> None:
    elsewhere = {
        "sasl.jaas.config",  # test_jaas
        "sasl.login.callback.handler.class",
        "sasl.client.callback.handler.class",  # test_token_providers
        "sasl.oauthbearer.jwt.retriever.class",
        "compression.gzip.level",  # below
        "compression.lz4.level",
        "compression.zstd.level",
    } | {key for key in JAVA_PROPERTIES if key.startswith(("ssl.keystore.", "ssl.truststore."))}  # test_stores
    converted = {p.key for p in properties_with(Handling.CONVERTED)}
    tested = {key for key, *_ in CONVERTED if key in JAVA_PROPERTIES}
    assert converted == {key for key in tested if JAVA_PROPERTIES[key].handling is Handling.CONVERTED} | elsewhere


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_a_compression_level_applies_to_its_codec(codec: str) -> None:
    levels = {f"compression.{name}.level": str(i) for i, name in enumerate(("gzip", "lz4", "zstd"), 3)}
    config = to_librdkafka({**SERVERS, **levels, "compression.type": codec})
    assert config["compression.level"] == levels[f"compression.{codec}.level"]
    assert "compression.level" not in to_librdkafka({**SERVERS, **levels})


def test_a_value_out_of_librdkafkas_range_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        to_librdkafka({**SERVERS, "request.timeout.ms": "600000"})
    assert "option 'properties.request.timeout.ms' = 600000 is out of librdkafka's range: using 300000" in caplog.text
    with pytest.raises(
        InvalidOptionError,
        match=r"'-5' for option 'properties.request.timeout.ms': expected an integer of at least 0 \(milliseconds\)",
    ):
        to_librdkafka({**SERVERS, "request.timeout.ms": "-5"})


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", "DHE-RSA-AES256-GCM-SHA384"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
    ],
)
def test_cipher_suites(java: str, openssl: str) -> None:
    names = {cipher["name"] for cipher in _all_ciphers()}
    assert openssl in names
    config = to_librdkafka({**SERVERS, "ssl.cipher.suites": f"TLS_AES_256_GCM_SHA384, {java},{openssl}"})
    assert config["ssl.cipher.suites"] == f"{openssl}:{openssl}"


def _all_ciphers() -> list[ssl._Cipher]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context.get_ciphers()


def test_only_cipher_suites_of_tls_13_are_rejected() -> None:
    with pytest.raises(UnsupportedOptionError, match=r"lists suites of TLS 1\.3 only"):
        to_librdkafka({**SERVERS, "ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"})


def test_reset_by_duration_is_rejected() -> None:
    with pytest.raises(UnsupportedOptionError, match=r"Use 'scan.startup.mode' = 'timestamp'"):
        to_librdkafka({**SERVERS, "auto.offset.reset": "by_duration:PT1H"})


@pytest.mark.parametrize("java", properties_with(Handling.IGNORED), ids=lambda p: p.key)
def test_ignored_with_a_warning(java: Property, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert to_librdkafka({**SERVERS, java.key: value_of(java)}) == to_librdkafka(SERVERS)
    assert f"'properties.{java.key}' has no effect: {java.reason}" in caplog.text


@pytest.mark.parametrize("java", properties_with(Handling.REJECTED), ids=lambda p: p.key)
def test_rejected_with_the_reason(java: Property) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        to_librdkafka({**SERVERS, java.key: "hunter2"})
    assert f"'properties.{java.key}' is not supported: {java.reason}" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", REJECTED_OPTIONS)
def test_unsafe_options_are_rejected(key: str) -> None:
    with pytest.raises(InvalidOptionError, match=rf"'properties.{key}' is not supported: librdkafka would") as e:
        to_librdkafka({**SERVERS, key: "hunter2"})
    assert "hunter2" not in str(e.value)


@pytest.mark.parametrize("value", ["3", "${env:NUMBER}"])
@pytest.mark.parametrize("key", ["test.mock.num.brokers", "offset.store.method", "interceptors", "ssl_ca"])
def test_options_of_librdkafka_that_are_not_listed_are_rejected(key: str, value: str) -> None:
    rejected = find_rejected({key: "3"})
    assert rejected is None or not is_unknown(rejected[1])  # this librdkafka has the option
    with pytest.raises(InvalidOptionError, match=rf"'properties.{key}' is not supported: it is not one of the librd"):
        to_librdkafka({**SERVERS, key: value})


def test_librdkafka_has_the_listed_options_and_java_has_not() -> None:
    for key in ALLOWED_OPTIONS:
        rejected = find_rejected({key: ""})
        assert rejected is None or not is_unknown(rejected[1]), key
    assert not ALLOWED_OPTIONS & (JAVA_PROPERTIES.keys() | REJECTED_OPTIONS.keys())


@pytest.mark.parametrize("properties", [{}, {"sasl.mechanism": "GSSAPI"}])
def test_kerberos_error_lists_what_to_install(properties: dict[str, str]) -> None:
    if supports_kerberos():
        pytest.skip("this client supports Kerberos")
    with pytest.raises(
        UnsupportedOptionError, match=r"'properties.sasl.mechanism'.*Kerberos.*KAFKA_SQL_LIBRDKAFKA"
    ) as e:
        to_librdkafka({**SERVERS, "security.protocol": "SASL_SSL", "sasl.kerberos.service.name": "kafka", **properties})
    assert ("is missing" in str(e.value)) == (not properties)


@pytest.mark.parametrize(
    ("login", "option"),
    [
        ('principal="alice;reboot"', "sasl.kerberos.principal"),
        ('principal="-R"', "sasl.kerberos.principal"),
        ('principal="a b"', "sasl.kerberos.principal"),
        ('principal=""', "sasl.kerberos.principal"),
        ('useKeyTab=true keyTab="/k$(reboot)"', "sasl.kerberos.keytab"),
        ("useKeyTab=true keyTab='/k\\\";reboot;\\\"'", "sasl.kerberos.keytab"),
    ],
)
def test_kinit_arguments_are_checked(login: str, option: str) -> None:
    """librdkafka runs kinit with system()."""
    properties = {"sasl.jaas.config": f"com.sun.security.auth.module.Krb5LoginModule required {login};"}
    with pytest.raises(InvalidOptionError, match=rf"'properties.{option}'.*kinit") as e:
        resolve_config(properties)
    assert "reboot" not in str(e.value)


@pytest.mark.parametrize("value", ["a$(reboot)", "a`reboot`", 'a" reboot "', "a\\", "a\nreboot"])
@pytest.mark.parametrize("key", ["sasl.kerberos.principal", "sasl.kerberos.keytab"])
def test_kinit_arguments_from_references_are_checked(monkeypatch: pytest.MonkeyPatch, key: str, value: str) -> None:
    monkeypatch.setenv("KINIT_ARGUMENT", value)
    with pytest.raises(InvalidOptionError, match=rf"'properties.{key}'") as e:
        resolve_config({key: "${env:KINIT_ARGUMENT}"})
    assert "reboot" not in str(e.value)


def test_the_kinit_command_cannot_be_changed() -> None:
    key = "sasl.kerberos.kinit.cmd"
    assert key not in ALLOWED_OPTIONS
    assert to_librdkafka({**SERVERS, key: "reboot"}) == to_librdkafka(SERVERS)


def test_valid_principals_and_keytabs() -> None:
    login = 'useKeyTab=true keyTab="/etc/my keys/alice-1.keytab" principal="HTTP/host-1.example@EXAMPLE.COM"'
    config = resolve_config({"sasl.jaas.config": f"com.sun.security.auth.module.Krb5LoginModule required {login};"})
    assert config == {
        "sasl.kerberos.principal": "HTTP/host-1.example@EXAMPLE.COM",
        "sasl.kerberos.keytab": "/etc/my keys/alice-1.keytab",
    }


def test_unknown_property_suggests_the_nearest() -> None:
    with pytest.raises(
        UnknownOptionError, match=r"'properties.grup.id' is not a .* property.* Did you mean 'group.id'\?"
    ):
        to_librdkafka({**SERVERS, "grup.id": "a"})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "auto.offset.reset",
            "smallest_",
            " 'smallest_' for option '{}': expected one of 'earliest', 'latest', 'none'.",
        ),
        (
            "compression.type",
            "lz5",
            " 'lz5' for option '{}': expected one of 'none', 'gzip', 'snappy', 'lz4', 'zstd'. Did",
        ),
        ("queued.min.messages", "x", " 'x' for option '{}': expected a number."),
        ("queued.min.messages", "1.5", " '1.5' for option '{}': expected a number in decimal digits, without a unit."),
        ("queued.min.messages", "010", " '010' for option '{}': expected a number in decimal digits, without a unit."),
        ("queued.max.messages.kbytes", "5 mb", " '5 mb' for option '{}': expected a number in decimal digits, without"),
        ("socket.timeout.ms", "7", " '7' for option '{}': expected a number in the range 10..300000."),
        ("socket.timeout.ms", "30 s", " '30 s' for option '{}': expected a number in "),
        ("receive.message.max.bytes", "x", " 'x' for option '{}': expected a number."),
        ("linger.ms", "http://u:p@h", " for option '{}': expected an integer of at least 0 (milliseconds)."),
        ("linger.ms", "900001", " '900001' for option '{}': expected a number in the range 0..900000."),
        ("acks", "2", " '2' for option '{}': expected one of 'all', '1', '0'."),
    ],
)
def test_invalid_values_name_what_is_allowed(key: str, value: str, message: str) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        to_librdkafka({**SERVERS, key: value})
    assert str(caught.value).startswith("[INVALID_OPTION] Invalid value" + message.format(f"properties.{key}"))
    assert "u:p" not in str(caught.value)


INVALID = {
    "INT": ("abc", "-200000", "99999999999999999999", "1.5", "1e3", "0x10", "5 s", "", "١"),
    "LONG": ("abc", "-200000", "99999999999999999999", "1.5", "1e3", "0x10", "5 s", "", "١"),
    "SHORT": ("abc", "-1", "40000", "1.5", ""),
    "DOUBLE": ("abc", "-1", "1.01", "1,0", "nan", "inf", ""),
    "BOOLEAN": ("maybe", "2", "yes", ""),
}
CHOICES = (
    *("acks", "auto.offset.reset", "client.dns.lookup", "compression.type", "group.protocol", "isolation.level"),
    *("metadata.recovery.strategy", "sasl.mechanism", "sasl.oauthbearer.assertion.algorithm", "security.protocol"),
    *("ssl.endpoint.identification.algorithm", "ssl.enabled.protocols", "ssl.keystore.type", "ssl.truststore.type"),
)


@pytest.mark.parametrize("key", sorted(TYPES))
def test_a_wrong_value_is_named_with_what_is_allowed(key: str) -> None:
    java, type_name = JAVA_PROPERTIES[key], TYPES[key]
    for value in ("x!",) if key in CHOICES else INVALID.get(type_name, ()):
        if java.handling is Handling.REJECTED or value in java.neutral_values:
            continue
        with pytest.raises(InvalidOptionError) as caught:
            to_librdkafka({**SERVERS, key: value})
        assert caught.value.option == f"properties.{key}"
        expected = {"INT": "an integer ", "LONG": "an integer ", "SHORT": "an integer ", "DOUBLE": "a number from "}
        start = f"[INVALID_OPTION] Invalid value '{value}' for option 'properties.{key}': expected "
        assert str(caught.value).startswith(start + expected.get(type_name, ""))


@pytest.mark.parametrize("key", sorted(key for key, name in TYPES.items() if name in INVALID))
def test_numbers_are_written_as_in_java(key: str) -> None:
    java = JAVA_PROPERTIES[key]
    if java.handling is not Handling.REJECTED:
        value = value_of(java)
        plain, written = to_librdkafka({**SERVERS, key: value}), to_librdkafka({**SERVERS, key: f" {value}\n"})
        assert written == plain
        if TYPES[key] in ("INT", "LONG"):
            assert to_librdkafka({**SERVERS, key: f"+00{value}"}) == plain


def number(text: str) -> float:
    return float(text) if "." in text else int(text)


def test_ranges_are_those_of_java() -> None:
    """Java's clients have no minimum for some, which fail later: 0."""
    largest = {"INT": (1 << 31) - 1, "LONG": (1 << 63) - 1, "DOUBLE": 1}
    for key, _, type_name, _, range_ in KAFKA:
        if type_name not in ("INT", "LONG", "SHORT", "DOUBLE"):
            continue
        values = JAVA_PROPERTIES[key].values
        assert isinstance(values, (Integers, Decimals))
        own = values.smallest, values.largest
        if key == "compression.gzip.level":
            assert (own, range_) == ((-1, 9), "[1,...,9] or -1")
            continue
        low, _, high = range_.strip("[]").partition(",...")
        smallest = -1 if key == "connections.max.idle.ms" else 0
        assert own == (number(low or str(smallest)), number(high.strip(",") or str(largest[type_name]))), key
    assert {key for key, name in TYPES.items() if name == "BOOLEAN"} - {"transaction.two.phase.commit.enable"} == {
        key for key, java in JAVA_PROPERTIES.items() if java.values is BOOLEAN
    }


def test_invalid_values_of_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    message = 'Invalid value "S3cret" for configuration property'
    monkeypatch.setattr(librdkafka_properties, "find_rejected", lambda config: ("sasl.password", message))
    with pytest.raises(InvalidOptionError) as caught:
        to_librdkafka({**SERVERS, "sasl.password": "S3cret"})
    assert "Invalid value for option 'properties.sasl.password'" in str(caught.value)
    assert "S3cret" not in str(caught.value)


def test_api_timeout_is_kept_and_checked() -> None:
    assert to_librdkafka({**SERVERS, "default.api.timeout.ms": "1500"})["default.api.timeout.ms"] == "1500"
    with pytest.raises(InvalidOptionError, match=r"'soon' for option .*: expected an integer"):
        to_librdkafka({**SERVERS, "default.api.timeout.ms": "soon"})


@pytest.mark.parametrize("properties", [{"acks": "1"}, {"max.in.flight.requests.per.connection": "10"}])
def test_idempotence_is_disabled_as_in_java(properties: dict[str, str]) -> None:
    assert to_librdkafka({**SERVERS, **properties})["enable.idempotence"] == "false"
    assert to_librdkafka({**SERVERS, **properties, "enable.idempotence": "true"})["enable.idempotence"] == "true"


def test_silent_connections_are_closed_before_other_timeouts() -> None:
    """Java's clients close them after request.timeout.ms, even in transactions."""
    config = to_librdkafka(SERVERS)
    socket_timeout = int(config["socket.timeout.ms"])
    assert socket_timeout == 30_000
    assert 2 * socket_timeout <= min(int(config["delivery.timeout.ms"]), int(api_timeout(config) * 1000))
    assert int(admin_config(config)["socket.timeout.ms"]) == connect_timeout(config) * 1000 == 10_000
    shorter = to_librdkafka({**SERVERS, "request.timeout.ms": "5000"})
    assert admin_config(shorter)["socket.timeout.ms"] == shorter["socket.timeout.ms"] == "5000"
