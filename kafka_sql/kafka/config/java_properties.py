"""Every property of Apache Kafka's Java clients, and what becomes of it here: one table.

Names: Apache Kafka's configuration pages of consumer, producer and admin client, as of 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final


class Handling(Enum):
    """What becomes of a property."""

    SAME = "same"
    RENAMED = "renamed"
    CONVERTED = "converted"
    IGNORED = "ignored"
    REJECTED = "refused"


@dataclass(frozen=True)
class Property:
    """One property of Java's clients.

    Attributes:
        to: librdkafka's name, where it is only renamed.
        why: what it becomes, or why it is ignored or refused.
        quiet: a value that asks for nothing, so that ignoring it needs no warning and refusing it would be silly.
    """

    key: str
    handling: Handling
    librdkafka_name: str = ""
    reason: str = ""
    neutral_values: frozenset[str] = frozenset()


def _same(*keys: str) -> Iterable[Property]:
    return (Property(key, Handling.SAME) for key in keys)


def _all(fate: Handling, whys: Mapping[str, str], *quiet: str) -> Iterable[Property]:
    return (Property(key, fate, reason=why, neutral_values=frozenset(quiet)) for key, why in whys.items())


_JVM: Final = "it names a Java class, and there is no Java client here"
_OPENSSL: Final = "OpenSSL does this, and not a Java provider"
_LOGIN: Final = "librdkafka fetches and renews tokens and tickets by a plan of its own"
_METRICS: Final = "metrics are Spark's and librdkafka's: see metrics.md"
_GROUPS: Final = "share groups are another way of reading"
_VALIDATOR: Final = "it is for brokers, which look at tokens"
_STORE: Final = "the file is read on each machine that makes a client; JKS, PKCS12 or PEM, by its content"
_PASSWORD: Final = "it opens the store"

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
        "auto.offset.reset": "'none' is librdkafka's 'error'; 'by_duration:' is refused: that is "
        "'scan.startup.mode' = 'timestamp'",
        "buffer.memory": "librdkafka's queue.buffering.max.kbytes, in kilobytes",
        "compression.gzip.level": "librdkafka's compression.level, with compression.type = gzip",
        "compression.lz4.level": "librdkafka's compression.level, with compression.type = lz4",
        "compression.zstd.level": "librdkafka's compression.level, with compression.type = zstd",
        "connections.max.idle.ms": "-1, for never, is librdkafka's 0",
        "fetch.max.bytes": "raised to message.max.bytes, below which librdkafka cannot go",
        "partitioner.ignore.keys": "true is librdkafka's partitioner = random",
        "sasl.jaas.config": "Plain, Scram, OAuthBearer and Krb5 login modules become librdkafka's sasl.*",
        "sasl.login.callback.handler.class": "OAuthBearerLoginCallbackHandler is librdkafka's method 'oidc'; others "
        "are refused",
        "sasl.oauthbearer.jwt.retriever.class": "the default, ClientCredentialsJwtRetriever and JwtBearerJwtRetriever "
        "are librdkafka's method 'oidc' with a grant type; others are refused",
        "ssl.cipher.suites": "Java's names become OpenSSL's; those of TLS 1.3 are on in any case",
        "ssl.endpoint.identification.algorithm": "the empty text, for off, is librdkafka's 'none'",
        "ssl.key.password": "it opens the private key of the key store",
        "ssl.keystore.certificate.chain": "PEM text, also with CRLF or on one line",
        "ssl.keystore.key": "PEM text, encrypted or not",
        "ssl.keystore.location": _STORE,
        "ssl.keystore.password": _PASSWORD,
        "ssl.keystore.type": "a store's kind is known by its content",
        "ssl.truststore.certificates": "PEM text, also with CRLF or on one line",
        "ssl.truststore.location": _STORE,
        "ssl.truststore.password": _PASSWORD,
        "ssl.truststore.type": "a store's kind is known by its content",
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
        "the same; a value outside of librdkafka's range becomes the nearest within, with a warning",
    )
    | {"default.api.timeout.ms": "librdkafka has none; it bounds the waits of this connector"}
)

_IGNORED: Final = {
    "auto.commit.interval.ms": "offsets are kept in the checkpoint",
    "enable.auto.commit": "it is overridden: offsets are kept in the checkpoint, and committed after each batch",
    "exclude.internal.topics": "topics are named one by one",
    "internal.throw.on.fetch.stable.offset.unsupported": "it is internal to Java's client",
    "key.deserializer": "it is overridden, as in Flink: the table's format decodes",
    "max.block.ms": "a full queue waits for the brokers",
    "max.poll.records": "batches are sized by bytes: see 'scan.batch.max-rows'",
    "metadata.max.idle.ms": "librdkafka has no such setting",
    "metric.reporters": _METRICS,
    "metrics.num.samples": _METRICS,
    "metrics.recording.level": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "partition.assignment.strategy": "splits are assigned by Spark",
    "partitioner.adaptive.partitioning.enable": "librdkafka's sticky partitioner does not look at queues",
    "partitioner.availability.timeout.ms": "librdkafka's sticky partitioner does not look at queues",
    "sasl.kerberos.kinit.cmd": "librdkafka would run it as a shell command; kinit is looked for on PATH",
    "sasl.kerberos.ticket.renew.jitter": _LOGIN,
    "sasl.kerberos.ticket.renew.window.factor": _LOGIN,
    "sasl.login.connect.timeout.ms": _LOGIN,
    "sasl.login.read.timeout.ms": _LOGIN,
    "sasl.login.refresh.buffer.seconds": _LOGIN,
    "sasl.login.refresh.min.period.seconds": _LOGIN,
    "sasl.login.refresh.window.factor": _LOGIN,
    "sasl.login.refresh.window.jitter": _LOGIN,
    "sasl.login.retry.backoff.max.ms": _LOGIN,
    "sasl.login.retry.backoff.ms": _LOGIN,
    "sasl.oauthbearer.clock.skew.seconds": _VALIDATOR,
    "sasl.oauthbearer.expected.audience": _VALIDATOR,
    "sasl.oauthbearer.expected.issuer": _VALIDATOR,
    "sasl.oauthbearer.header.urlencode": "librdkafka encodes the credentials of the token endpoint by itself",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": _VALIDATOR,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": _VALIDATOR,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": _VALIDATOR,
    "sasl.oauthbearer.jwks.endpoint.url": _VALIDATOR,
    "sasl.oauthbearer.jwt.validator.class": _VALIDATOR,
    "sasl.oauthbearer.scope.claim.name": _VALIDATOR,
    "sasl.oauthbearer.sub.claim.name": _VALIDATOR,
    "share.acknowledgement.mode": _GROUPS,
    "share.acquire.mode": _GROUPS,
    "socket.connection.setup.timeout.max.ms": "librdkafka waits for each connection as long as for the first",
    "ssl.enabled.protocols": "OpenSSL chooses TLS 1.2 or 1.3, whichever is the newest that the broker has",
    "ssl.keymanager.algorithm": _OPENSSL,
    "ssl.protocol": "OpenSSL chooses TLS 1.2 or 1.3, whichever is the newest that the broker has",
    "ssl.provider": _OPENSSL,
    "ssl.secure.random.implementation": _OPENSSL,
    "ssl.trustmanager.algorithm": _OPENSSL,
    "transactional.id": "the sink names its transactions by 'sink.transactional-id-prefix'",
    "value.deserializer": "it is overridden, as in Flink: the table's format decodes",
    "bootstrap.controllers": "brokers are asked, and not controllers",
}

_REFUSED: Final = {
    "config.providers": _JVM + "; the providers 'env', 'file' and 'directory' are there without it",
    "interceptor.classes": _JVM,
    "key.serializer": "the table's format encodes",
    "partitioner.class": _JVM + "; write 'sink.partitioner'",
    "sasl.client.callback.handler.class": _JVM,
    "sasl.login.class": _JVM,
    "security.providers": _JVM,
    "ssl.engine.factory.class": _JVM,
    "transaction.two.phase.commit.enable": "'sink.delivery-guarantee' = 'exactly-once' has its own two phases",
    "value.serializer": "the table's format encodes",
}

JAVA_PROPERTIES: Final[Mapping[str, Property]] = {
    p.key: p
    for p in (
        *_same(*_SAME),
        *(Property(key, Handling.RENAMED, to) for key, to in _RENAMED.items()),
        *_all(Handling.CONVERTED, _CONVERTED),
        *_all(Handling.IGNORED, _IGNORED, ""),
        *_all(Handling.REJECTED, _REFUSED, "", "false"),
    )
}

# librdkafka's own options that Java's clients do not have, and that would do harm
REJECTED_LIBRDKAFKA_OPTIONS: Final[Mapping[str, str]] = {
    "plugin.library.paths": "librdkafka would load it as code",
    "ssl.engine.location": "librdkafka would load it as code",
}
