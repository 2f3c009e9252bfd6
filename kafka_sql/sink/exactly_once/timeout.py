"""Determine the transaction timeout, and check it and the brokers' support before the first row is written."""

from __future__ import annotations

from contextlib import closing
from typing import Final

from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError
from kafka_sql.kafka.admin.descriptions import broker_setting
from kafka_sql.kafka.config.properties import TRANSACTION_TIMEOUT
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin

_OPTION: Final = f"properties.{TRANSACTION_TIMEOUT}"
_MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
_DEFAULT_MAX_TIMEOUT: Final = 900_000  # milliseconds: Kafka's default
_broker_limits: dict[str, int | None] = {}  # by bootstrap servers; None if unknown


def transaction_timeout(definition: Definition) -> int:
    """Return the transaction timeout in milliseconds: the option, or else the brokers' limit, at most 15 minutes.

    Raises:
        InvalidOptionError: the option exceeds the brokers' limit.
        UnsupportedVersionError: the brokers do not support a request that exactly-once needs.
        BrokerError: librdkafka rejects the configuration, or no broker responded.
    """
    limit = _broker_limit(definition)
    if TRANSACTION_TIMEOUT not in definition.client_config:
        return min(limit or _DEFAULT_MAX_TIMEOUT, _DEFAULT_MAX_TIMEOUT)
    timeout = int(definition.client_config[TRANSACTION_TIMEOUT])
    if limit is not None and timeout > limit:
        raise InvalidOptionError(
            f"Table '{definition.name}': option '{_OPTION}' = '{timeout}' exceeds the brokers' '{_MAX_TIMEOUT}' = "
            f"'{limit}'. Lower it, raise the brokers' limit, or remove the option to use the limit.",
            table=definition.name,
            option=_OPTION,
        )
    return timeout


def check_trigger_interval(definition: Definition, interval: int) -> None:
    """Check that the transaction timeout is not shorter than the trigger interval, which a batch may take.

    Args:
        interval: trigger interval in milliseconds.

    Raises:
        InvalidOptionError: the option is set, and shorter than the interval.
    """
    timeout = definition.client_config.get(TRANSACTION_TIMEOUT)
    if timeout is not None and int(timeout) < interval:
        raise InvalidOptionError(
            f"Table '{definition.name}': option '{_OPTION}' = '{timeout}' is less than "
            f"'execution.checkpointing.interval' = '{interval} ms', so the brokers could abort a batch that "
            "takes the whole interval. Raise the option, or remove it to use the brokers' limit.",
            table=definition.name,
            option=_OPTION,
        )


def _broker_limit(definition: Definition) -> int | None:
    servers = definition.client_config["bootstrap.servers"]
    if servers not in _broker_limits:
        text = broker_setting(definition.client_config, _MAX_TIMEOUT)
        with closing(TransactionAdmin(definition.client_config)) as client:
            client.require_support()
        _broker_limits[servers] = int(text) if text is not None else None
    return _broker_limits[servers]
