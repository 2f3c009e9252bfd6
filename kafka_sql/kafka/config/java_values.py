"""Check and normalize the numbers and booleans among the properties of Java's clients, as these clients do.

librdkafka would take ``1.5`` and ``1 min`` for 1, and ``010`` for 8.

Types and ranges: Apache Kafka 4.3, ConfigDef of the consumer, the producer and the admin client.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import InvalidOptionError
from kafka_sql.options.secrets import mask_user_info

_INT: Final = (1 << 31) - 1
_LONG: Final = (1 << 63) - 1
_INTEGER: Final = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?\d{1,19}(?:\.\d{1,19})?", re.ASCII)
_UNITS: Final = {"ms": "milliseconds", "seconds": "seconds", "bytes": "bytes", "memory": "bytes", "size": "bytes"}

BOOLEANS: Final = frozenset(
    {
        "allow.auto.create.topics",
        "check.crcs",
        "enable.auto.commit",
        "enable.idempotence",
        "enable.metrics.push",
        "exclude.internal.topics",
        "internal.throw.on.fetch.stable.offset.unsupported",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.ignore.keys",
        "sasl.oauthbearer.assertion.claim.jti.include",
        "sasl.oauthbearer.header.urlencode",
    }
)
INTEGERS: Final[Mapping[str, tuple[int, int]]] = {
    "auto.commit.interval.ms": (0, _INT),
    "batch.size": (0, _INT),
    "buffer.memory": (0, _LONG),
    "compression.gzip.level": (-1, 9),
    "compression.lz4.level": (1, 17),
    "compression.zstd.level": (-131072, 22),
    "connections.max.idle.ms": (-1, _LONG),
    "default.api.timeout.ms": (0, _INT),
    "delivery.timeout.ms": (0, _INT),
    "fetch.max.bytes": (0, _INT),
    "fetch.max.wait.ms": (0, _INT),
    "fetch.min.bytes": (0, _INT),
    "heartbeat.interval.ms": (0, _INT),
    "linger.ms": (0, _LONG),
    "max.block.ms": (0, _LONG),
    "max.in.flight.requests.per.connection": (1, _INT),
    "max.partition.fetch.bytes": (0, _INT),
    "max.poll.interval.ms": (1, _INT),
    "max.poll.records": (1, _INT),
    "max.request.size": (0, _INT),
    "metadata.max.age.ms": (0, _LONG),
    "metadata.max.idle.ms": (5000, _LONG),
    "metadata.recovery.rebootstrap.trigger.ms": (0, _LONG),
    "metrics.num.samples": (1, _INT),
    "metrics.sample.window.ms": (0, _LONG),
    "partitioner.availability.timeout.ms": (0, _LONG),
    "receive.buffer.bytes": (-1, _INT),
    "reconnect.backoff.max.ms": (0, _LONG),
    "reconnect.backoff.ms": (0, _LONG),
    "request.timeout.ms": (0, _INT),
    "retries": (0, _INT),
    "retry.backoff.max.ms": (0, _LONG),
    "retry.backoff.ms": (0, _LONG),
    "sasl.kerberos.min.time.before.relogin": (0, _LONG),
    "sasl.login.connect.timeout.ms": (0, _INT),
    "sasl.login.read.timeout.ms": (0, _INT),
    "sasl.login.refresh.buffer.seconds": (0, 3600),
    "sasl.login.refresh.min.period.seconds": (0, 900),
    "sasl.login.retry.backoff.max.ms": (0, _LONG),
    "sasl.login.retry.backoff.ms": (0, _LONG),
    "sasl.oauthbearer.assertion.claim.exp.seconds": (0, 86400),
    "sasl.oauthbearer.assertion.claim.nbf.seconds": (0, 3600),
    "sasl.oauthbearer.clock.skew.seconds": (0, _INT),
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": (0, _LONG),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": (0, _LONG),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": (0, _LONG),
    "send.buffer.bytes": (-1, _INT),
    "session.timeout.ms": (0, _INT),
    "socket.connection.setup.timeout.max.ms": (0, _LONG),
    "socket.connection.setup.timeout.ms": (0, _LONG),
    "transaction.timeout.ms": (0, _INT),
}
"""The smallest and largest value."""
DECIMALS: Final[Mapping[str, tuple[float, float]]] = {
    "sasl.kerberos.ticket.renew.jitter": (0, 1),
    "sasl.kerberos.ticket.renew.window.factor": (0, 1),
    "sasl.login.refresh.window.factor": (0.5, 1),
    "sasl.login.refresh.window.jitter": (0, 0.25),
}
"""The smallest and largest value."""


def normalize_number(key: str, value: str) -> str:
    """Return a property's value as librdkafka reads it: without blanks, leading zeros and a plus sign.

    Args:
        key: Java's name. The value of a property that is no number is returned unchanged.
        value: a literal value.

    Raises:
        InvalidOptionError: it is no number, or out of range. Names the value and what is expected.
    """
    text = value.strip()
    if key in INTEGERS:
        low, high = INTEGERS[key]
        if not _INTEGER.fullmatch(text) or not low <= int(text) <= high:
            raise invalid_value(key, value, f"an integer {_range(low, high)}{_unit(key)}")
        return str(int(text))
    if key in DECIMALS:
        smallest, largest = DECIMALS[key]
        if not _DECIMAL.fullmatch(text) or not smallest <= float(text) <= largest:
            raise invalid_value(key, value, f"a number {_range(smallest, largest)}")
    return value


def invalid_value(key: str, value: str, expected: str) -> InvalidOptionError:
    """Return the error for a literal value of a property that is no secret."""
    shown = f" '{value}'" if mask_user_info(value) == value else ""
    option = f"properties.{key}"
    return InvalidOptionError(f"Invalid value{shown} for option '{option}': expected {expected}.", option=option)


def _range(low: float, high: float) -> str:
    return f"of at least {low}" if high in (_INT, _LONG) else f"from {low} to {high}"


def _unit(key: str) -> str:
    unit = _UNITS.get(key.rpartition(".")[2])
    return f" ({unit})" if unit else ""
