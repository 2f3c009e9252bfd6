"""Choose the client that reads or writes a table: the direct one if it supports the settings, else librdkafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_sql.errors import UnsupportedOptionError
from kafka_sql.options.connector import DIRECT, LIBRDKAFKA, SCAN_CLIENT, SINK_CLIENT
from kafka_sql.options.option import Option


class ClientChoice(NamedTuple):
    """A client, and why it was chosen."""

    client: str  # DIRECT or LIBRDKAFKA
    reason: str  # a phrase for logs and reports


def choose_reader(setting: str, config: Mapping[str, str]) -> ClientChoice:
    """Choose the client that begins to read a table.

    Raises:
        UnsupportedOptionError: 'scan.client' is 'direct', and the direct client does not support the settings.
    """
    from kafka_sql.kafka.direct.eligibility import find_read_obstacle  # lazy: imports the clients; planners wait for it

    return _choose(SCAN_CLIENT, setting, find_read_obstacle(config))


def choose_writer(setting: str, config: Mapping[str, str]) -> ClientChoice:
    """Choose the client that writes a table. Parameters and errors are those of ``choose_reader``."""
    from kafka_sql.kafka.direct.eligibility import find_write_obstacle  # lazy, as above

    return _choose(SINK_CLIENT, setting, find_write_obstacle(config))


def _choose(option: Option[str], setting: str, obstacle: str | None) -> ClientChoice:
    if setting == LIBRDKAFKA:
        return ClientChoice(LIBRDKAFKA, f"'{option.key}' is '{LIBRDKAFKA}'")
    if obstacle is None:
        return ClientChoice(DIRECT, "the direct client supports the table's settings")
    if setting == DIRECT:
        raise UnsupportedOptionError(
            f"Option '{option.key}' is '{DIRECT}', but {obstacle}. Change that option, or remove '{option.key}' to use "
            "librdkafka.",
            option=option.key,
        )
    return ClientChoice(LIBRDKAFKA, obstacle)
