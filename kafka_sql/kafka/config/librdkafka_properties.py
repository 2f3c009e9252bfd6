"""List the librdkafka properties that tables may set, and ask librdkafka which ones it accepts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

_UNKNOWN: Final = 'No such configuration property: "{}"'
# what confluent-kafka takes for itself instead of passing it to librdkafka
_PYTHON_KEYS: Final = frozenset(
    ("default.topic.config", "error_cb", "logger", "oauth_cb", "on_commit", "stats_cb", "throttle_cb")
)
# In addition to those with Java's names: librdkafka 2.16, CONFIGURATION.md. A property that is not listed is rejected,
# even if the installed librdkafka has it: before one of a new release is added here, check that it does not load code
# or write files. A file that librdkafka reads also belongs to the files that ``security`` checks.
ALLOWED_OPTIONS: Final = frozenset(
    {
        "api.version.fallback.ms",
        "api.version.request",
        "api.version.request.timeout.ms",
        "auto.commit.enable",
        "batch.num.messages",
        "broker.address.family",
        "broker.address.ttl",
        "broker.version.fallback",
        "compression.codec",
        "compression.level",
        "consume.callback.max.messages",
        "coordinator.query.interval.ms",
        "debug",
        "delivery.report.only.error",
        "enable.auto.offset.store",
        "enable.gapless.guarantee",
        "enable.partition.eof",
        "enable.random.seed",
        "enable.sasl.oauthbearer.unsecure.jwt",
        "enable.ssl.certificate.verification",
        "fetch.error.backoff.ms",
        "fetch.message.max.bytes",
        "fetch.queue.backoff.ms",
        "fetch.wait.max.ms",
        "group.protocol.type",
        "https.ca.location",
        "https.ca.pem",
        "log.connection.close",
        "log.queue",
        "log.thread.name",
        "log_level",
        "max.in.flight",
        "message.copy.max.bytes",
        "message.max.bytes",
        "message.send.max.retries",
        "message.timeout.ms",
        "metadata.broker.list",
        "partitioner",
        "produce.offset.report",
        "queue.buffering.backpressure.threshold",
        "queue.buffering.max.kbytes",
        "queue.buffering.max.messages",
        "queue.buffering.max.ms",
        "queued.max.messages.kbytes",
        "queued.min.messages",
        "queuing.strategy",
        "receive.message.max.bytes",
        "reconnect.backoff.jitter.ms",
        "request.required.acks",
        "sasl.kerberos.keytab",
        "sasl.kerberos.principal",
        "sasl.mechanisms",
        "sasl.oauthbearer.assertion.jwt.template.file",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.extensions",
        "sasl.oauthbearer.grant.type",
        "sasl.oauthbearer.metadata.authentication.type",
        "sasl.oauthbearer.method",
        "sasl.password",
        "sasl.username",
        "socket.blocking.max.ms",
        "socket.keepalive.enable",
        "socket.max.fails",
        "socket.nagle.disable",
        "socket.receive.buffer.bytes",
        "socket.send.buffer.bytes",
        "socket.timeout.ms",
        "ssl.ca.certificate.stores",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.crl.location",
        "ssl.curves.list",
        "ssl.key.location",
        "ssl.key.pem",
        "ssl.providers",
        "ssl.sigalgs.list",
        "statistics.interval.ms",
        "sticky.partitioning.linger.ms",
        "topic.blacklist",
        "topic.metadata.propagation.max.ms",
        "topic.metadata.refresh.fast.cnt",
        "topic.metadata.refresh.fast.interval.ms",
        "topic.metadata.refresh.interval.ms",
        "topic.metadata.refresh.sparse",
    }
)

# never allowed, with the reason
REJECTED_OPTIONS: Final[Mapping[str, str]] = {
    "offset.store.path": "librdkafka would write to the file, and offsets are stored in the checkpoint",
    "plugin.library.paths": "librdkafka would load it as code",
    "ssl.engine.id": "librdkafka would load it as code",
    "ssl.engine.location": "librdkafka would load it as code",
}


def find_rejected(config: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the first property that librdkafka rejects, with its message, which may contain the value.

    Returns None if librdkafka accepts all properties. One call takes microseconds.
    """
    if not _PYTHON_KEYS & config.keys() and _rejection(config) is None:
        return None
    for key, value in config.items():
        message = _UNKNOWN.format(key) if key in _PYTHON_KEYS else _rejection({key: value})
        if message is not None:
            return key, message
    return None


def is_unknown(message: str) -> bool:
    """Return whether a message of ``find_rejected`` says that librdkafka does not have the property."""
    return message.startswith(_UNKNOWN.split("{", 1)[0])


def is_number(key: str) -> bool:
    """Return whether a property that librdkafka has is a number."""
    rejected = find_rejected({key: "1"})
    return find_rejected({key: "x"}) is not None and (rejected is None or " allowed " in rejected[1])


@cache
def supports_kerberos() -> bool:
    """Return whether this librdkafka was built with Kerberos (GSSAPI)."""
    return find_rejected({"builtin.features": "sasl_gssapi"}) is None


def _rejection(config: Mapping[str, str]) -> str | None:
    """Return librdkafka's message for the first property that it rejects.

    confluent-kafka sets the properties in their order, stops at the first that is rejected, and only then creates a
    client. An invalid callback at the end prevents the latter.
    """
    from confluent_kafka import Consumer, KafkaException  # lazy: planner processes import this module, but do not check

    # with oauth_cb, confluent-kafka does not look for AWS credentials
    settings: dict[str, Any] = {"group.id": "", "oauth_cb": _rejection, **config, "error_cb": None}
    try:
        Consumer(settings)
    except TypeError:
        return None
    except KafkaException as e:
        return str(e.args[0].str())
    raise AssertionError("a client was created with an invalid callback")
