"""The options that can be set to any text, which of them hold secrets, and a table with a secret in each of these.

``free_text_options`` takes the options from the code. Each one must be in one of the lists below, so that whoever adds
an option decides whether it can hold a secret. ``planted_secrets`` returns a unique secret for each that can.
"""

from __future__ import annotations

import base64
import hashlib
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from kafka_sql.formats.confluent.options import declare_registry_options
from kafka_sql.formats.registry import FORMATS
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES
from kafka_sql.kafka.config.librdkafka_properties import ALLOWED_OPTIONS, find_rejected
from kafka_sql.kafka.config.token_providers import OWN_PROPERTIES
from kafka_sql.options.connector import DYNAMIC_OPTIONS, KAFKA_OPTIONS, UPSERT_OPTIONS
from kafka_sql.sql.jobs.settings import SETTINGS
from tests.certificates import create_authority, sign_certificate

FORMAT: Final = "<format>"  # instead of the identifier of a format
HEADER: Final = f"{FORMAT}.properties.request.header.*"

# The whole value is a secret.
SECRETS: Final = frozenset(
    """
    properties.sasl.jaas.config
    properties.sasl.kerberos.kinit.cmd
    properties.sasl.oauthbearer.assertion.private.key.passphrase
    properties.sasl.oauthbearer.assertion.private.key.pem
    properties.sasl.oauthbearer.client.credentials.client.secret
    properties.sasl.oauthbearer.client.secret
    properties.sasl.oauthbearer.config
    properties.sasl.oauthbearer.extensions
    properties.sasl.password
    properties.ssl.certificate.pem
    properties.ssl.key.password
    properties.ssl.key.pem
    properties.ssl.keystore.certificate.chain
    properties.ssl.keystore.key
    properties.ssl.keystore.password
    properties.ssl.truststore.password
    <format>.basic-auth.user-info
    <format>.bearer-auth.token
    <format>.ssl.keystore.password
    <format>.ssl.truststore.password
    <format>.properties.basic.auth.user.info
    <format>.properties.bearer.auth.token
    <format>.properties.request.header.*
    <format>.properties.schema.registry.ssl.keystore.password
    <format>.properties.schema.registry.ssl.truststore.password
    """.split()  # noqa: SIM905
)
# URLs and addresses, which can contain user and password.
ADDRESSES: Final = frozenset(
    """
    properties.bootstrap.controllers
    properties.bootstrap.servers
    properties.metadata.broker.list
    properties.sasl.oauthbearer.jwks.endpoint.url
    properties.sasl.oauthbearer.token.endpoint.url
    <format>.schema-registry.url
    <format>.url
    """.split()  # noqa: SIM905
)
# A list of properties, each of which can be a secret.
MAPS: Final = frozenset({f"{FORMAT}.properties"})
# Names, files, classes, patterns and certificates of authorities. A URL in them is still shown without its password.
PUBLIC: Final = frozenset(
    """
    client.id.prefix error-handling.log.target execution.checkpointing.dir format key.fields key.fields-prefix
    key.format metadata-service metadata-service.cluster-id metrics.reporter.prom.host pipeline.name
    scan.bounded.specific-offsets scan.partitions
    scan.rack-id scan.startup.offsets-initializer scan.startup.specific-offsets scan.watermark.alignment.group
    sink.partitioner sink.transactional-id-prefix stream-ids stream-pattern topic
    topic-pattern value.format

    <format>.basic-auth.credentials-source <format>.bearer-auth.credentials-source <format>.charset
    <format>.codec <format>.database.include <format>.descriptor-file <format>.line-delimiter
    <format>.proto-file <format>.proto-path
    <format>.map-null-key.literal <format>.message-class-name <format>.null-literal
    <format>.properties.basic.auth.credentials.source
    <format>.properties.bearer.auth.credentials.source <format>.properties.schema.registry.ssl.keystore.location
    <format>.properties.schema.registry.ssl.truststore.location <format>.schema <format>.schema-registry.schema
    <format>.schema-registry.subject <format>.ssl.keystore.location <format>.ssl.truststore.location
    <format>.subject <format>.table.include <format>.write-null-string-literal

    properties.acks properties.auto.offset.reset properties.broker.version.fallback properties.client.dns.lookup
    properties.client.id properties.client.id.prefix properties.client.rack properties.compression.type
    properties.config.providers properties.group.id properties.group.instance.id properties.group.protocol
    properties.group.protocol.type properties.group.remote.assignor properties.https.ca.location
    properties.https.ca.pem properties.interceptor.classes properties.isolation.level
    properties.key.deserializer properties.key.serializer properties.metadata.recovery.strategy
    properties.metric.reporters properties.metrics.recording.level properties.partition.assignment.strategy
    properties.partitioner.class properties.sasl.client.callback.handler.class properties.sasl.kerberos.keytab
    properties.sasl.kerberos.principal properties.sasl.kerberos.service.name
    properties.sasl.login.callback.handler.class properties.sasl.login.class properties.sasl.mechanism
    properties.sasl.oauthbearer.assertion.algorithm properties.sasl.oauthbearer.assertion.claim.aud
    properties.sasl.oauthbearer.assertion.claim.iss properties.sasl.oauthbearer.assertion.claim.sub
    properties.sasl.oauthbearer.assertion.file properties.sasl.oauthbearer.assertion.jwt.template.file
    properties.sasl.oauthbearer.assertion.private.key.file properties.sasl.oauthbearer.assertion.template.file
    properties.sasl.oauthbearer.client.credentials.client.id properties.sasl.oauthbearer.client.id
    properties.sasl.oauthbearer.expected.audience properties.sasl.oauthbearer.expected.issuer
    properties.sasl.oauthbearer.jwt.retriever.class properties.sasl.oauthbearer.jwt.validator.class
    properties.sasl.oauthbearer.scope properties.sasl.oauthbearer.scope.claim.name
    properties.sasl.oauthbearer.sub.claim.name properties.sasl.oauthbearer.token-provider
    properties.sasl.username properties.security.protocol
    properties.security.providers properties.share.acknowledgement.mode properties.share.acquire.mode
    properties.ssl.ca.location properties.ssl.ca.pem properties.ssl.certificate.location
    properties.ssl.cipher.suites properties.ssl.crl.location properties.ssl.curves.list
    properties.ssl.enabled.protocols properties.ssl.endpoint.identification.algorithm
    properties.ssl.engine.factory.class properties.ssl.key.location properties.ssl.keymanager.algorithm
    properties.ssl.keystore.location properties.ssl.keystore.type properties.ssl.protocol
    properties.ssl.provider properties.ssl.providers properties.ssl.secure.random.implementation
    properties.ssl.sigalgs.list properties.ssl.trustmanager.algorithm properties.ssl.truststore.certificates
    properties.ssl.truststore.location properties.ssl.truststore.type properties.topic.blacklist
    properties.transactional.id properties.value.deserializer properties.value.serializer
    """.split()  # noqa: SIM905
)

_TYPED: Final = frozenset({"Boolean", "Character", "Duration", "Enum", "Integer", "Long", "MemorySize"})
_JAVA_PROPERTIES: Final = Path(__file__).parent / "unit/kafka/config/java_properties.tsv"
_JAVA_TEXT: Final = frozenset({"CLASS", "LIST", "PASSWORD", "STRING"})  # the other types of ConfigDef are numbers

_JAAS: Final = "org.apache.kafka.common.security"
_ALPHABET: Final = string.ascii_letters + string.digits
_PART_LENGTH: Final = 8  # characters of a third of a secret
_RUNS: Final = re.compile(rb"[A-Za-z0-9+/=]{8,}")  # text that can contain a part of a secret
_ADDRESS: Final = "127.0.0.1:1"  # nothing listens there
TABLE: Final[Mapping[str, str]] = {
    "connector": "kafka",
    "topic": "t",
    "properties.bootstrap.servers": _ADDRESS,
    "properties.default.api.timeout.ms": "1000",
}


def java_types() -> dict[str, str]:
    """Return the types of Kafka's ConfigDef, by property."""
    rows = (line.split("\t") for line in _JAVA_PROPERTIES.read_text().splitlines())
    return {key: value_type for key, _, value_type, *_ in rows}


def registry_formats() -> list[str]:
    """Return the formats with a schema registry."""
    return [name for name in FORMATS if any(option.key == f"{name}.url" for option in FORMATS[name].options)]


def free_text_options() -> set[str]:
    """Return the keys of all options that accept any text, in WITH and in SET."""
    options = (*KAFKA_OPTIONS, *UPSERT_OPTIONS, *DYNAMIC_OPTIONS, *SETTINGS.values())
    keys = {key for option in options if option.type not in _TYPED for key in option.keys}
    for name in FORMATS:
        options = FORMATS[name].options
        keys |= {FORMAT + k.removeprefix(name) for o in options if o.type not in _TYPED for k in o.keys}
    registry = declare_registry_options(FORMAT, "AVRO", "")
    keys |= {f"{registry.properties.key}.{name}" for name in registry.client_properties} | {HEADER}
    types = java_types()
    properties = {key for key in JAVA_PROPERTIES if types.get(key, "STRING") in _JAVA_TEXT}
    properties |= {key for key in ALLOWED_OPTIONS - types.keys() if find_rejected({key: "any text"}) is None}
    return keys | {f"properties.{key}" for key in properties | OWN_PROPERTIES.keys()}


@dataclass(frozen=True)
class PlantedSecret:
    """A secret in an option.

    Attributes:
        key: the option.
        value: its value, which contains the marker.
        marker: the secret.
        companions: the other options of the table, and those that this one requires.
        name: for test ids.
    """

    key: str
    value: str = field(repr=False)
    marker: str = field(repr=False)
    companions: Mapping[str, str] = field(repr=False)
    name: str

    @property
    def is_rejected(self) -> bool:
        """Whether the table is an error: addresses with user info, and a secret in a list of properties."""
        keys = ("properties.bootstrap.servers", "properties.metadata.broker.list")
        return self.key in keys or self.key.endswith(".properties")

    @property
    def options(self) -> dict[str, str]:
        """The options of a table with the secret."""
        return {**self.companions, self.key: self.value}

    @property
    def statement(self) -> str:
        """The CREATE TABLE of that table."""
        return create_statement(self.options)

    def is_in(self, text: str | bytes) -> bool:
        """Return whether a part of the secret is in a string, even if it is encoded as base64."""
        if isinstance(text, str):
            return any(part in text for part in _parts(self.marker))
        return any(part.encode() in text for part in _parts(self.marker))


@cache
def _parts(marker: str) -> tuple[str, ...]:
    encoded = (base64.b64encode(b"\0" * shift + marker.encode()).decode() for shift in range(3))
    plain = (marker[i : i + _PART_LENGTH] for i in range(0, len(marker), _PART_LENGTH))
    return (*plain, *(text[4:-4] for text in encoded))


def create_statement(options: Mapping[str, str], head: str = "CREATE TABLE t (a STRING)") -> str:
    """Return a statement with options."""
    return f"{head} WITH ({sql_options(options)})"


def sql_options(options: Mapping[str, str]) -> str:
    """Return options as in WITH."""
    return ", ".join(f"'{key}' = '{value.replace(chr(39), chr(39) * 2)}'" for key, value in options.items())


@cache
def planted_secrets() -> tuple[PlantedSecret, ...]:
    """Return secrets in all options that can hold one: of each registry format, and with each prefix of one format."""
    prefixes = [("", name) for name in registry_formats()] + [(p, registry_formats()[0]) for p in ("key.", "value.")]
    secrets: list[PlantedSecret] = []
    for key in sorted(SECRETS | ADDRESSES | MAPS):
        if key.startswith(FORMAT):
            secrets += (s for prefix, name in prefixes for s in _format_secrets(key, prefix, name))
        else:
            secrets += _property_secrets(key)
    return tuple(secrets)


def merged_tables(secrets: Iterable[PlantedSecret]) -> dict[str, dict[str, str]]:
    """Return the options of tables with all these secrets, by names for the tables. Each is a valid table."""
    tables: dict[str, dict[str, str]] = {}
    for secret in secrets:
        # one login module per table; one way to log in to a registry, and one key of its URL
        prefix, is_of_registry, key = secret.key.partition("confluent.")
        variant = next((text for text in ("bearer", "schema-registry.url") if text in key), "")
        group = f"{prefix} {variant}" if is_of_registry else secret.name.removeprefix(secret.key)
        options = tables.setdefault(group, {})
        options |= {**secret.companions, **options, secret.key: secret.value}
    return {f"t{number}": options for number, options in enumerate(tables.values())}


def find_leaks(folder: Path, secrets: Iterable[PlantedSecret]) -> list[tuple[str, str]]:
    """Return the names of secrets and the files that contain them."""
    # each text once, because logs repeat most of theirs
    contents = {p: b"\n".join({*_RUNS.findall(p.read_bytes())}) for p in folder.rglob("*") if p.is_file()}
    return [(s.name, str(path)) for path, content in contents.items() for s in secrets if s.is_in(content)]


def _property_secrets(key: str) -> Iterator[PlantedSecret]:
    table = {**TABLE, "format": "raw"}
    if key == "properties.sasl.jaas.config":
        for module, option in (
            ("plain.PlainLoginModule", "password"),
            ("scram.ScramLoginModule", "password"),
            ("oauthbearer.OAuthBearerLoginModule", "clientSecret"),
            ("oauthbearer.OAuthBearerLoginModule", "extension_key"),
        ):
            marker = make_marker(module + option)
            value = f'{_JAAS}.{module} required username="u" clientId="u" {option}="{marker}";'
            yield PlantedSecret(key, value, marker, table, f"{key} {module} {option}")
    elif key.endswith((".pem", ".keystore.key", ".certificate.chain")):
        yield _pem_secret(key, table)
    else:
        marker = make_marker(key)
        value = {
            "properties.sasl.oauthbearer.extensions": f"key={marker},other=x",
            "properties.sasl.oauthbearer.config": f"principal={marker}",
            "properties.sasl.kerberos.kinit.cmd": f"echo {marker} | kinit",
        }.get(key, marker)
        if key in ADDRESSES:
            value = f"http://u:{marker}@{_ADDRESS}/" if key.endswith("url") else f"u:{marker}@{_ADDRESS}"
        yield PlantedSecret(key, value, marker, table, key)


def _pem_secret(key: str, table: Mapping[str, str]) -> PlantedSecret:
    pems = {
        f"properties.{name}": pem for names in _PEMS for name, pem in zip(names, _key_and_chain(names), strict=True)
    }
    value = pems[key]
    lines = value.splitlines()
    marker = lines[-3 if "CERTIFICATE" in value else 2][:24]  # a part of the signature or of the private key
    return PlantedSecret(key, value, marker, {**table, **pems}, key)


_PEMS: Final = (
    ("ssl.keystore.key", "ssl.keystore.certificate.chain"),
    ("ssl.key.pem", "ssl.certificate.pem"),
    ("sasl.oauthbearer.assertion.private.key.pem",),
)


@cache
def _key_and_chain(names: tuple[str, ...]) -> list[str]:
    """Return a private key and, if there is a name for it, its certificate."""
    identity = sign_certificate(create_authority("ca"), names[0])
    return [identity.key(), identity.chain][: len(names)]


def _format_secrets(key: str, prefix: str, name: str) -> Iterator[PlantedSecret]:
    """Return secrets in an option of a format.

    Args:
        key: with a placeholder for the format's identifier.
        prefix: of the format's options: empty, ``key.`` or ``value.``.
    """
    table = {**TABLE, f"{prefix}format": name, f"{prefix}{name}.url": f"http://{_ADDRESS}"}
    if prefix == "key.":
        table |= {"key.fields": "a", "value.format": "json"}
    for header in ("Authorization", "Cookie") if key == HEADER else ("",):
        full_key = prefix + key.replace(FORMAT, name).replace("*", header)
        marker = make_marker(full_key)
        if key in ADDRESSES:
            table.pop(f"{prefix}{name}.url")
            value = f"http://u:{marker}@{_ADDRESS}"
        elif key in MAPS:
            value = f"auto.register.schemas:true,basic.auth.user.info:u:{marker}"
        else:
            value = {"Authorization": f"Bearer {marker}"}.get(header, marker)
            value = f"u:{marker}" if "basic" in key else value
        yield PlantedSecret(full_key, value, marker, dict(table), full_key)


def make_marker(seed: str) -> str:
    """Return a string that appears nowhere by chance."""
    digest = hashlib.sha256(seed.encode()).digest()
    return "Zq" + "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:22])
