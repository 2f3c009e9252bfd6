"""How long a transaction may stay open: checked before the first row is written."""

from __future__ import annotations

from typing import Final

from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError
from kafka_sql.kafka.admin.broker_config import broker_setting
from kafka_sql.kafka.config.properties import TRANSACTION_TIMEOUT

_OPTION: Final = f"properties.{TRANSACTION_TIMEOUT}"
_LIMIT: Final = "transaction.max.timeout.ms"
_USUAL: Final = 900_000  # milliseconds: the brokers' limit where nobody has changed it
_limits: dict[str, int | None] = {}


def transaction_timeout(definition: Definition) -> int:
    """Milliseconds after which the brokers abort a transaction: the option's, or as many as they allow.

    Raises:
        InvalidOptionError: more than they allow.
        BrokerError: they do not answer.
    """
    limit = _limit(definition)
    if TRANSACTION_TIMEOUT not in definition.client:
        return min(limit or _USUAL, _USUAL)
    given = int(definition.client[TRANSACTION_TIMEOUT])
    if limit is not None and given > limit:
        raise InvalidOptionError(
            f"Table '{definition.name}': option '{_OPTION}' = '{given}' is more than the brokers' '{_LIMIT}' = "
            f"'{limit}'. Lower it, or raise theirs; without it, a transaction may take as long as they allow."
        )
    return given


def check_trigger(definition: Definition, interval: int) -> None:
    """Refuse a timeout below the trigger's interval: a batch that takes all its time would be aborted.

    Args:
        interval: milliseconds.

    Raises:
        InvalidOptionError: the timeout is given, and shorter.
    """
    given = definition.client.get(TRANSACTION_TIMEOUT)
    if given is not None and int(given) < interval:
        raise InvalidOptionError(
            f"Table '{definition.name}': option '{_OPTION}' = '{given}' is less than "
            f"'execution.checkpointing.interval' = '{interval} ms', so the brokers would abort a batch that takes all "
            "the time it has. Raise it, or leave "
            "it out: a transaction may then take as long as the brokers allow."
        )


def _limit(definition: Definition) -> int | None:
    servers = definition.client["bootstrap.servers"]
    if servers not in _limits:
        text = broker_setting(definition.client, _LIMIT)
        _limits[servers] = int(text) if text is not None else None
    return _limits[servers]
