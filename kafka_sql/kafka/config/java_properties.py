"""List every property of Apache Kafka's Java clients and how it is handled.

Names, types and ranges: Apache Kafka 4.3, ConfigDef of the consumer, the producer and the admin client. Ranges of
librdkafka, which are narrower: CONFIGURATION.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kafka_sql.kafka.config.java_values import BOOLEAN, INT_MAX, LONG_MAX, Decimals, Integers, Values


class Handling(Enum):
    """How a property is handled."""

    SAME = "same"
    RENAMED = "renamed"
    CONVERTED = "converted"
    IGNORED = "ignored"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Property:
    """A property of Java's clients."""

    key: str
    handling: Handling
    librdkafka_name: str = ""  # the name in librdkafka, if the property is only renamed
    reason: str = ""  # what it is converted to, or why it is ignored or rejected
    # values without effect: they are ignored without a warning and not rejected
    neutral_values: frozenset[str] = frozenset()
    values: Values = None  # the numbers that Java's clients accept, or BOOLEAN; None for text
    # whether it is ignored, but Java's client of real-time mode honors it. None of these names a class, command, file
    # or address.
    is_java_only: bool = False


def _same(key: str, values: Values = None) -> Property:
    return Property(key, Handling.SAME, values=values)


def _renamed(key: str, to: str, values: Values = None) -> Property:
    return Property(key, Handling.RENAMED, to, values=values)


def _converted(key: str, reason: str, values: Values = None) -> Property:
    return Property(key, Handling.CONVERTED, reason=reason, values=values)


def _clamped(key: str, values: Integers) -> Property:
    return _converted(key, "the same; a value outside librdkafka's range is clamped to it, with a warning", values)


def _ignored(key: str, reason: str, values: Values = None, *, java_only: bool = False) -> Property:
    return Property(key, Handling.IGNORED, "", reason, frozenset({""}), values, java_only)


def _rejected(key: str, reason: str) -> Property:
    return Property(key, Handling.REJECTED, reason=reason, neutral_values=frozenset({"", "false"}))


_JVM: Final = "it names a Java class, and this client does not run on Java"
_OPENSSL: Final = "OpenSSL is used instead of a Java provider"
_TOKEN_REFRESH: Final = "the clients decide when to fetch and refresh tokens and tickets"
_METRICS: Final = "metrics come from Spark and kafka_sql: see metrics.md"
_SHARE_GROUPS: Final = "share groups are not used"
_VALIDATOR: Final = "it is for brokers, which validate tokens"
_STORE: Final = "the file is read on each machine that creates a client; JKS, PKCS12 or PEM, detected by content"
_PASSWORD: Final = "the password of the store"
_STORE_TYPE: Final = "the type is detected from the content of the store"
_PEM: Final = "PEM, even with CRLF or on one line"
_QUEUES: Final = "the sticky partition does not depend on the length of queues"
_DECODES: Final = "it is overridden, as in Flink: the table's format decodes"

JAVA_PROPERTIES: Final[Mapping[str, Property]] = {
    property.key: property
    for property in (
        _same("acks"),
        _same("allow.auto.create.topics", BOOLEAN),
        _same("bootstrap.servers"),
        _same("check.crcs", BOOLEAN),
        _same("client.dns.lookup"),
        _same("client.id"),
        _same("client.rack"),
        _same("compression.type"),
        _same("delivery.timeout.ms", Integers(0)),
        _same("enable.idempotence", BOOLEAN),
        _same("enable.metrics.push", BOOLEAN),
        _same("group.id"),
        _same("group.instance.id"),
        _same("group.protocol"),
        _same("group.remote.assignor"),
        _same("heartbeat.interval.ms", Integers(0)),
        _same("isolation.level"),
        _same("linger.ms", Integers(0, LONG_MAX)),
        _same("max.in.flight.requests.per.connection", Integers(1)),
        _same("metadata.recovery.rebootstrap.trigger.ms", Integers(0, LONG_MAX)),
        _same("metadata.recovery.strategy"),
        _same("retries", Integers(0)),
        _same("sasl.kerberos.min.time.before.relogin", Integers(0, LONG_MAX)),
        _same("sasl.kerberos.service.name"),
        _same("sasl.mechanism"),
        _same("sasl.oauthbearer.assertion.algorithm"),
        _same("sasl.oauthbearer.assertion.claim.aud"),
        _same("sasl.oauthbearer.assertion.claim.exp.seconds", Integers(0, 86400)),
        _same("sasl.oauthbearer.assertion.claim.iss"),
        _same("sasl.oauthbearer.assertion.claim.jti.include", BOOLEAN),
        _same("sasl.oauthbearer.assertion.claim.nbf.seconds", Integers(0, 3600)),
        _same("sasl.oauthbearer.assertion.claim.sub"),
        _same("sasl.oauthbearer.assertion.file"),
        _same("sasl.oauthbearer.assertion.private.key.file"),
        _same("sasl.oauthbearer.assertion.private.key.passphrase"),
        _same("sasl.oauthbearer.scope"),
        _same("sasl.oauthbearer.token.endpoint.url"),
        _same("security.protocol"),
        _same("transaction.timeout.ms", Integers(0)),
        _renamed("fetch.max.wait.ms", "fetch.wait.max.ms", Integers(0, INT_MAX, (0, 300000))),
        _renamed("max.request.size", "message.max.bytes", Integers(0, INT_MAX, (1000, 1000000000))),
        _renamed("receive.buffer.bytes", "socket.receive.buffer.bytes", Integers(-1, INT_MAX, (0, 100000000))),
        _renamed("request.timeout.ms", "socket.timeout.ms", Integers(0, INT_MAX, (10, 300000))),
        _renamed("sasl.oauthbearer.assertion.template.file", "sasl.oauthbearer.assertion.jwt.template.file"),
        _renamed("sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.id"),
        _renamed("sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.secret"),
        _renamed("send.buffer.bytes", "socket.send.buffer.bytes", Integers(-1, INT_MAX, (0, 100000000))),
        _converted(
            "auto.offset.reset",
            "'none' becomes 'error'; 'by_duration:' is rejected: use 'scan.startup.mode' = 'timestamp'",
        ),
        _converted("buffer.memory", "becomes queue.buffering.max.kbytes, in kilobytes", Integers(0, LONG_MAX)),
        _converted("compression.gzip.level", "becomes compression.level, if compression.type = gzip", Integers(-1, 9)),
        _converted("compression.lz4.level", "becomes compression.level, if compression.type = lz4", Integers(1, 17)),
        _converted(
            "compression.zstd.level", "becomes compression.level, if compression.type = zstd", Integers(-131072, 22)
        ),
        _converted("connections.max.idle.ms", "-1 (never) becomes 0", Integers(-1, LONG_MAX, (0, INT_MAX))),
        _converted(
            "fetch.max.bytes",
            "raised to message.max.bytes, librdkafka's minimum",
            Integers(0, INT_MAX, (0, 2147483135)),
        ),
        _converted("partitioner.ignore.keys", "true becomes partitioner = random", BOOLEAN),
        _converted(
            "sasl.jaas.config", "Plain, Scram, OAuthBearer, Krb5 and AWS's IAM login modules become librdkafka's sasl.*"
        ),
        _converted(
            "sasl.client.callback.handler.class",
            "AWS's IAMClientCallbackHandler becomes sasl.oauthbearer.token-provider = aws; others are rejected",
        ),
        _converted(
            "sasl.login.callback.handler.class",
            "OAuthBearerLoginCallbackHandler becomes sasl.oauthbearer.method = oidc; those of AWS, Google and Azure "
            "become sasl.oauthbearer.token-provider = aws, gcp or azure; others are rejected",
        ),
        _converted(
            "sasl.oauthbearer.jwt.retriever.class",
            "the default, ClientCredentialsJwtRetriever and JwtBearerJwtRetriever become sasl.oauthbearer.method = "
            "oidc with a grant type; others are rejected",
        ),
        _converted("ssl.cipher.suites", "Java's names become OpenSSL's; those of TLS 1.3 are always enabled"),
        _converted(
            "ssl.enabled.protocols",
            "'TLSv1.3' alone disables TLS 1.2; otherwise, TLS 1.3 is used if the broker supports it, even if it is "
            "not listed, or else TLS 1.2; older versions are always disabled",
        ),
        _converted("ssl.endpoint.identification.algorithm", "the empty string (off) becomes 'none'"),
        _converted("ssl.key.password", "the password of the private key"),
        _converted("ssl.keystore.certificate.chain", _PEM),
        _converted("ssl.keystore.key", "PEM, encrypted or not"),
        _converted("ssl.keystore.location", _STORE),
        _converted("ssl.keystore.password", _PASSWORD),
        _converted("ssl.keystore.type", _STORE_TYPE),
        _converted("ssl.truststore.certificates", _PEM),
        _converted("ssl.truststore.location", _STORE),
        _converted("ssl.truststore.password", _PASSWORD),
        _converted("ssl.truststore.type", _STORE_TYPE),
        _clamped("batch.size", Integers(0, INT_MAX, (1, INT_MAX))),
        _clamped("fetch.min.bytes", Integers(0, INT_MAX, (1, 100000000))),
        _clamped("max.partition.fetch.bytes", Integers(0, INT_MAX, (1, 1000000000))),
        _clamped("max.poll.interval.ms", Integers(1, INT_MAX, (1, 86400000))),
        _clamped("metadata.max.age.ms", Integers(0, LONG_MAX, (1, 86400000))),
        _clamped("reconnect.backoff.max.ms", Integers(0, LONG_MAX, (0, 3600000))),
        _clamped("reconnect.backoff.ms", Integers(0, LONG_MAX, (0, 3600000))),
        _clamped("retry.backoff.max.ms", Integers(0, LONG_MAX, (1, 300000))),
        _clamped("retry.backoff.ms", Integers(0, LONG_MAX, (1, 300000))),
        _clamped("session.timeout.ms", Integers(0, INT_MAX, (1, 3600000))),
        _clamped("socket.connection.setup.timeout.ms", Integers(0, LONG_MAX, (1000, INT_MAX))),
        _converted(
            "default.api.timeout.ms",
            "librdkafka has no such property; it limits how long this connector waits",
            Integers(0),
        ),
        _converted(
            "max.block.ms",
            "librdkafka has no such property; it limits how long a writer waits for metadata and a producer id; the "
            "default is default.api.timeout.ms",
            Integers(0, LONG_MAX),
        ),
        _ignored("auto.commit.interval.ms", "offsets are stored in the checkpoint", Integers(0)),
        _ignored(
            "enable.auto.commit",
            "it is overridden: offsets are stored in the checkpoint, and committed after each batch",
            BOOLEAN,
        ),
        _ignored("exclude.internal.topics", "topics are selected by the table", BOOLEAN),
        _ignored("internal.throw.on.fetch.stable.offset.unsupported", "it is internal to Java's client", BOOLEAN),
        _ignored("key.deserializer", _DECODES),
        _ignored(
            "max.poll.records", "the size of batches is set by 'scan.batch.max-rows'", Integers(1), java_only=True
        ),
        _ignored("metadata.max.idle.ms", "the clients have no such setting", Integers(5000, LONG_MAX), java_only=True),
        _ignored("metric.reporters", _METRICS),
        _ignored("metrics.num.samples", _METRICS, Integers(1)),
        _ignored("metrics.recording.level", _METRICS),
        _ignored("metrics.sample.window.ms", _METRICS, Integers(0, LONG_MAX)),
        _ignored("partition.assignment.strategy", "Spark assigns the splits"),
        _ignored("partitioner.adaptive.partitioning.enable", _QUEUES, BOOLEAN, java_only=True),
        _ignored("partitioner.availability.timeout.ms", _QUEUES, Integers(0, LONG_MAX), java_only=True),
        _ignored("sasl.kerberos.kinit.cmd", "librdkafka would run it as a shell command; kinit is looked up on PATH"),
        _ignored("sasl.kerberos.ticket.renew.jitter", _TOKEN_REFRESH, Decimals(0, 1), java_only=True),
        _ignored("sasl.kerberos.ticket.renew.window.factor", _TOKEN_REFRESH, Decimals(0, 1), java_only=True),
        _ignored("sasl.login.connect.timeout.ms", _TOKEN_REFRESH, Integers(0), java_only=True),
        _ignored("sasl.login.read.timeout.ms", _TOKEN_REFRESH, Integers(0), java_only=True),
        _ignored("sasl.login.refresh.buffer.seconds", _TOKEN_REFRESH, Integers(0, 3600), java_only=True),
        _ignored("sasl.login.refresh.min.period.seconds", _TOKEN_REFRESH, Integers(0, 900), java_only=True),
        _ignored("sasl.login.refresh.window.factor", _TOKEN_REFRESH, Decimals(0.5, 1), java_only=True),
        _ignored("sasl.login.refresh.window.jitter", _TOKEN_REFRESH, Decimals(0, 0.25), java_only=True),
        _ignored("sasl.login.retry.backoff.max.ms", _TOKEN_REFRESH, Integers(0, LONG_MAX), java_only=True),
        _ignored("sasl.login.retry.backoff.ms", _TOKEN_REFRESH, Integers(0, LONG_MAX), java_only=True),
        _ignored("sasl.oauthbearer.clock.skew.seconds", _VALIDATOR, Integers(0)),
        _ignored("sasl.oauthbearer.expected.audience", _VALIDATOR),
        _ignored("sasl.oauthbearer.expected.issuer", _VALIDATOR),
        _ignored(
            "sasl.oauthbearer.header.urlencode",
            "the clients do not URL-encode the credentials, like Java's by default",
            BOOLEAN,
            java_only=True,
        ),
        _ignored("sasl.oauthbearer.jwks.endpoint.refresh.ms", _VALIDATOR, Integers(0, LONG_MAX)),
        _ignored("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", _VALIDATOR, Integers(0, LONG_MAX)),
        _ignored("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", _VALIDATOR, Integers(0, LONG_MAX)),
        _ignored("sasl.oauthbearer.jwks.endpoint.url", _VALIDATOR),
        _ignored("sasl.oauthbearer.jwt.validator.class", _VALIDATOR),
        _ignored("sasl.oauthbearer.scope.claim.name", _VALIDATOR),
        _ignored("sasl.oauthbearer.sub.claim.name", _VALIDATOR),
        _ignored("share.acknowledgement.mode", _SHARE_GROUPS),
        _ignored("share.acquire.mode", _SHARE_GROUPS),
        _ignored(
            "socket.connection.setup.timeout.max.ms",
            "each connection attempt has the same timeout",
            Integers(0, LONG_MAX),
            java_only=True,
        ),
        _ignored("ssl.keymanager.algorithm", _OPENSSL),
        _ignored("ssl.protocol", "'ssl.enabled.protocols' sets the versions"),
        _ignored("ssl.provider", _OPENSSL),
        _ignored("ssl.secure.random.implementation", _OPENSSL),
        _ignored("ssl.trustmanager.algorithm", _OPENSSL),
        _ignored("transactional.id", "the sink uses 'sink.transactional-id-prefix'"),
        _ignored("value.deserializer", _DECODES),
        _ignored("bootstrap.controllers", "the client connects to brokers, not to controllers"),
        _rejected("config.providers", _JVM + "; the providers 'env', 'file' and 'directory' are built in"),
        _rejected("interceptor.classes", _JVM),
        _rejected("key.serializer", "the table's format encodes"),
        _rejected("partitioner.class", _JVM + "; use 'sink.partitioner'"),
        _rejected("sasl.login.class", _JVM),
        _rejected("security.providers", _JVM),
        _rejected("ssl.engine.factory.class", _JVM),
        _rejected(
            "transaction.two.phase.commit.enable",
            "'sink.delivery-guarantee' = 'exactly-once' has its own two-phase commit",
        ),
        _rejected("value.serializer", "the table's format encodes"),
    )
}

# Properties that Spark sets itself. Offsets are in its checkpoint, and this package commits them to the group.
_OF_SPARK: Final = frozenset({"allow.auto.create.topics", "auto.offset.reset", "group.id"})
_HANDLED: Final = (Handling.SAME, Handling.RENAMED, Handling.CONVERTED)

REAL_TIME_PROPERTIES: Final = {
    p.key for p in JAVA_PROPERTIES.values() if p.is_java_only or (p.handling in _HANDLED and p.key not in _OF_SPARK)
}
"""The properties that Java's client of real-time mode gets. The others have no effect there, or are rejected."""
