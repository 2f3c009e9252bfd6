"""List every property of Apache Kafka's Java clients and how it is handled.

Names: Apache Kafka 4.3, configuration of the consumer, the producer and the admin client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final


class Handling(Enum):
    """How a property is handled."""

    SAME = "same"
    RENAMED = "renamed"
    CONVERTED = "converted"
    IGNORED = "ignored"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Property:
    """A property of Java's clients.

    Attributes:
        librdkafka_name: the name in librdkafka, if the property is only renamed.
        reason: what it is converted to, or why it is ignored or rejected.
        neutral_values: values without effect: they are ignored without a warning and not rejected.
    """

    key: str
    handling: Handling
    librdkafka_name: str = ""
    reason: str = ""
    neutral_values: frozenset[str] = frozenset()


def _same(*keys: str) -> Iterable[Property]:
    return (Property(key, Handling.SAME) for key in keys)


def _with_reasons(handling: Handling, reasons: Mapping[str, str], *neutral_values: str) -> Iterable[Property]:
    return (
        Property(key, handling, reason=reason, neutral_values=frozenset(neutral_values))
        for key, reason in reasons.items()
    )


_JVM: Final = "it names a Java class, and this client does not run on Java"
_OPENSSL: Final = "OpenSSL is used instead of a Java provider"
_TOKEN_REFRESH: Final = "the clients decide when to fetch and refresh tokens and tickets"
_METRICS: Final = "metrics come from Spark and kafka_sql: see metrics.md"
_SHARE_GROUPS: Final = "share groups are not used"
_VALIDATOR: Final = "it is for brokers, which validate tokens"
_STORE: Final = "the file is read on each machine that creates a client; JKS, PKCS12 or PEM, detected by content"
_PASSWORD: Final = "the password of the store"

_SAME: Final = (
    "acks",
    "allow.auto.create.topics",
    "bootstrap.servers",
    "check.crcs",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "compression.type",
    "delivery.timeout.ms",
    "enable.idempotence",
    "enable.metrics.push",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "isolation.level",
    "linger.ms",
    "max.in.flight.requests.per.connection",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "retries",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.service.name",
    "sasl.mechanism",
    "sasl.oauthbearer.assertion.algorithm",
    "sasl.oauthbearer.assertion.claim.aud",
    "sasl.oauthbearer.assertion.claim.exp.seconds",
    "sasl.oauthbearer.assertion.claim.iss",
    "sasl.oauthbearer.assertion.claim.jti.include",
    "sasl.oauthbearer.assertion.claim.nbf.seconds",
    "sasl.oauthbearer.assertion.claim.sub",
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.token.endpoint.url",
    "security.protocol",
    "transaction.timeout.ms",
)

_RENAMED: Final = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "sasl.oauthbearer.assertion.template.file": "sasl.oauthbearer.assertion.jwt.template.file",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}

_CONVERTED: Final = (
    {
        "auto.offset.reset": "'none' becomes 'error'; 'by_duration:' is rejected: use "
        "'scan.startup.mode' = 'timestamp'",
        "buffer.memory": "becomes queue.buffering.max.kbytes, in kilobytes",
        "compression.gzip.level": "becomes compression.level, if compression.type = gzip",
        "compression.lz4.level": "becomes compression.level, if compression.type = lz4",
        "compression.zstd.level": "becomes compression.level, if compression.type = zstd",
        "connections.max.idle.ms": "-1 (never) becomes 0",
        "fetch.max.bytes": "raised to message.max.bytes, librdkafka's minimum",
        "partitioner.ignore.keys": "true becomes partitioner = random",
        "sasl.jaas.config": "Plain, Scram, OAuthBearer, Krb5 and AWS's IAM login modules become librdkafka's sasl.*",
        "sasl.client.callback.handler.class": "AWS's IAMClientCallbackHandler becomes "
        "sasl.oauthbearer.token-provider = aws; others are rejected",
        "sasl.login.callback.handler.class": "OAuthBearerLoginCallbackHandler becomes sasl.oauthbearer.method = oidc; "
        "those of AWS, Google and Azure become sasl.oauthbearer.token-provider = aws, gcp or azure; others are "
        "rejected",
        "sasl.oauthbearer.jwt.retriever.class": "the default, ClientCredentialsJwtRetriever and JwtBearerJwtRetriever "
        "become sasl.oauthbearer.method = oidc with a grant type; others are rejected",
        "ssl.cipher.suites": "Java's names become OpenSSL's; those of TLS 1.3 are always enabled",
        "ssl.enabled.protocols": "'TLSv1.3' alone disables TLS 1.2; otherwise, TLS 1.3 is used if the broker supports "
        "it, even if it is not listed, or else TLS 1.2; older versions are always disabled",
        "ssl.endpoint.identification.algorithm": "the empty string (off) becomes 'none'",
        "ssl.key.password": "the password of the private key",
        "ssl.keystore.certificate.chain": "PEM, even with CRLF or on one line",
        "ssl.keystore.key": "PEM, encrypted or not",
        "ssl.keystore.location": _STORE,
        "ssl.keystore.password": _PASSWORD,
        "ssl.keystore.type": "the type is detected from the content of the store",
        "ssl.truststore.certificates": "PEM, even with CRLF or on one line",
        "ssl.truststore.location": _STORE,
        "ssl.truststore.password": _PASSWORD,
        "ssl.truststore.type": "the type is detected from the content of the store",
    }
    | dict.fromkeys(
        (
            "batch.size",
            "fetch.min.bytes",
            "max.partition.fetch.bytes",
            "max.poll.interval.ms",
            "metadata.max.age.ms",
            "reconnect.backoff.max.ms",
            "reconnect.backoff.ms",
            "retry.backoff.max.ms",
            "retry.backoff.ms",
            "session.timeout.ms",
            "socket.connection.setup.timeout.ms",
        ),
        "the same; a value outside librdkafka's range is clamped to it, with a warning",
    )
    | {
        "default.api.timeout.ms": "librdkafka has no such property; it limits how long this connector waits",
        "max.block.ms": "librdkafka has no such property; it limits how long a writer waits for metadata and a "
        "producer id; the default is default.api.timeout.ms",
    }
)

_IGNORED: Final = {
    "auto.commit.interval.ms": "offsets are stored in the checkpoint",
    "enable.auto.commit": "it is overridden: offsets are stored in the checkpoint, and committed after each batch",
    "exclude.internal.topics": "topics are selected by the table",
    "internal.throw.on.fetch.stable.offset.unsupported": "it is internal to Java's client",
    "key.deserializer": "it is overridden, as in Flink: the table's format decodes",
    "max.poll.records": "the size of batches is set by 'scan.batch.max-rows'",
    "metadata.max.idle.ms": "the clients have no such setting",
    "metric.reporters": _METRICS,
    "metrics.num.samples": _METRICS,
    "metrics.recording.level": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "partition.assignment.strategy": "Spark assigns the splits",
    "partitioner.adaptive.partitioning.enable": "the sticky partition does not depend on the length of queues",
    "partitioner.availability.timeout.ms": "the sticky partition does not depend on the length of queues",
    "sasl.kerberos.kinit.cmd": "librdkafka would run it as a shell command; kinit is looked up on PATH",
    "sasl.kerberos.ticket.renew.jitter": _TOKEN_REFRESH,
    "sasl.kerberos.ticket.renew.window.factor": _TOKEN_REFRESH,
    "sasl.login.connect.timeout.ms": _TOKEN_REFRESH,
    "sasl.login.read.timeout.ms": _TOKEN_REFRESH,
    "sasl.login.refresh.buffer.seconds": _TOKEN_REFRESH,
    "sasl.login.refresh.min.period.seconds": _TOKEN_REFRESH,
    "sasl.login.refresh.window.factor": _TOKEN_REFRESH,
    "sasl.login.refresh.window.jitter": _TOKEN_REFRESH,
    "sasl.login.retry.backoff.max.ms": _TOKEN_REFRESH,
    "sasl.login.retry.backoff.ms": _TOKEN_REFRESH,
    "sasl.oauthbearer.clock.skew.seconds": _VALIDATOR,
    "sasl.oauthbearer.expected.audience": _VALIDATOR,
    "sasl.oauthbearer.expected.issuer": _VALIDATOR,
    "sasl.oauthbearer.header.urlencode": "the clients do not URL-encode the credentials, like Java's by default",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": _VALIDATOR,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": _VALIDATOR,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": _VALIDATOR,
    "sasl.oauthbearer.jwks.endpoint.url": _VALIDATOR,
    "sasl.oauthbearer.jwt.validator.class": _VALIDATOR,
    "sasl.oauthbearer.scope.claim.name": _VALIDATOR,
    "sasl.oauthbearer.sub.claim.name": _VALIDATOR,
    "share.acknowledgement.mode": _SHARE_GROUPS,
    "share.acquire.mode": _SHARE_GROUPS,
    "socket.connection.setup.timeout.max.ms": "each connection attempt has the same timeout",
    "ssl.keymanager.algorithm": _OPENSSL,
    "ssl.protocol": "'ssl.enabled.protocols' sets the versions",
    "ssl.provider": _OPENSSL,
    "ssl.secure.random.implementation": _OPENSSL,
    "ssl.trustmanager.algorithm": _OPENSSL,
    "transactional.id": "the sink uses 'sink.transactional-id-prefix'",
    "value.deserializer": "it is overridden, as in Flink: the table's format decodes",
    "bootstrap.controllers": "the client connects to brokers, not to controllers",
}

_REJECTED: Final = {
    "config.providers": _JVM + "; the providers 'env', 'file' and 'directory' are built in",
    "interceptor.classes": _JVM,
    "key.serializer": "the table's format encodes",
    "partitioner.class": _JVM + "; use 'sink.partitioner'",
    "sasl.login.class": _JVM,
    "security.providers": _JVM,
    "ssl.engine.factory.class": _JVM,
    "transaction.two.phase.commit.enable": "'sink.delivery-guarantee' = 'exactly-once' has its own two-phase commit",
    "value.serializer": "the table's format encodes",
}

JAVA_PROPERTIES: Final[Mapping[str, Property]] = {
    p.key: p
    for p in (
        *_same(*_SAME),
        *(Property(key, Handling.RENAMED, to) for key, to in _RENAMED.items()),
        *_with_reasons(Handling.CONVERTED, _CONVERTED),
        *_with_reasons(Handling.IGNORED, _IGNORED, ""),
        *_with_reasons(Handling.REJECTED, _REJECTED, "", "false"),
    )
}

JAVA_ONLY: Final = frozenset(
    {
        "max.poll.records",
        "metadata.max.idle.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms",
        "sasl.oauthbearer.header.urlencode",
        "socket.connection.setup.timeout.max.ms",
    }
)
"""Ignored properties that Java's client of real-time mode honors. None names a class, command, file or address."""
# Properties that Spark sets itself. Offsets are in its checkpoint, and this package commits them to the group.
_OF_SPARK: Final = frozenset({"allow.auto.create.topics", "auto.offset.reset", "group.id"})
_HANDLED: Final = (Handling.SAME, Handling.RENAMED, Handling.CONVERTED)

REAL_TIME_PROPERTIES: Final = JAVA_ONLY | {
    p.key for p in JAVA_PROPERTIES.values() if p.handling in _HANDLED and p.key not in _OF_SPARK
}
"""The properties that Java's client of real-time mode gets. The others have no effect there, or are rejected."""
