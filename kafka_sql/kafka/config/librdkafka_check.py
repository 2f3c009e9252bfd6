"""Ask librdkafka which configuration properties it accepts, without starting a client."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

_UNKNOWN: Final = 'No such configuration property: "{}"'
# what confluent-kafka takes for itself instead of passing it to librdkafka
_PYTHON_KEYS: Final = frozenset(
    ("default.topic.config", "error_cb", "logger", "oauth_cb", "on_commit", "stats_cb", "throttle_cb")
)


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
