"""Determine the transaction timeout, and check it before the first row is written."""

from __future__ import annotations

from typing import Final

from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError
from kafka_sql.kafka.admin.descriptions import broker_setting
from kafka_sql.kafka.config.properties import TRANSACTION_TIMEOUT

_OPTION: Final = f"properties.{TRANSACTION_TIMEOUT}"
_LIMIT: Final = "transaction.max.timeout.ms"
_DEFAULT_LIMIT: Final = 900_000  # milliseconds: Kafka's default
_limits: dict[str, int | None] = {}


def transaction_timeout(definition: Definition) -> int:
    """Return the timeout in milliseconds: the option's value, or the brokers' limit (at most 15 minutes).

    Raises:
        InvalidOptionError: the option exceeds the brokers' limit.
        BrokerError: the brokers do not respond.
    """
    limit = _broker_limit(definition)
    if TRANSACTION_TIMEOUT not in definition.client:
        return min(limit or _DEFAULT_LIMIT, _DEFAULT_LIMIT)
    timeout = int(definition.client[TRANSACTION_TIMEOUT])
    if limit is not None and timeout > limit:
        raise InvalidOptionError(
            f"Table '{definition.name}': option '{_OPTION}' = '{timeout}' exceeds the brokers' '{_LIMIT}' = "
            f"'{limit}'. Lower it, raise the brokers' limit, or remove the option to use the limit.",
            table=definition.name,
            option=_OPTION,
        )
    return timeout


def check_trigger_interval(definition: Definition, interval: int) -> None:
    """Check that the timeout covers the trigger interval. Otherwise a batch that takes that long would be aborted.

    Args:
        interval: trigger interval in milliseconds.

    Raises:
        InvalidOptionError: the timeout is set, and shorter than the interval.
    """
    timeout = definition.client.get(TRANSACTION_TIMEOUT)
    if timeout is not None and int(timeout) < interval:
        raise InvalidOptionError(
            f"Table '{definition.name}': option '{_OPTION}' = '{timeout}' is less than "
            f"'execution.checkpointing.interval' = '{interval} ms', so the brokers could abort a batch that "
            "takes the whole interval. Raise the option, or remove it to use the brokers' limit.",
            table=definition.name,
            option=_OPTION,
        )


def _broker_limit(definition: Definition) -> int | None:
    servers = definition.client["bootstrap.servers"]
    if servers not in _limits:
        text = broker_setting(definition.client, _LIMIT)
        _limits[servers] = int(text) if text is not None else None
    return _limits[servers]
