"""The options of the ``kafka`` connector, each of them once."""

from __future__ import annotations

from typing import Any, Final

from kafka_sql.options.option import Option, enum, string, string_list

PROPERTIES_PREFIX: Final = "properties."

CONNECTOR: Final = enum("connector", "Which connector the table uses: 'kafka'.", allowed=("kafka",), required=True)
TOPIC: Final = string_list(
    "topic",
    "Topic to read from and to write to. A source also takes a list, separated by ';': 'orders-eu;orders-us'.",
    required=True,
)
BOOTSTRAP_SERVERS: Final = string(
    "properties.bootstrap.servers", "Brokers to start from: 'host:port,host:port'.", required=True
)
GROUP_ID: Final = string(
    "properties.group.id",
    "Consumer group, which names the reader to the brokers and whose committed offsets 'group-offsets' starts from.",
)
FORMAT: Final = string("format", "Format of the record's value: 'json', 'raw'. The same as 'value.format'.")
VALUE_FORMAT: Final = string("value.format", "Format of the record's value. The same as 'format'.")

EARLIEST: Final = "earliest-offset"
LATEST: Final = "latest-offset"
GROUP: Final = "group-offsets"
STARTUP_MODE: Final = enum(
    "scan.startup.mode",
    "Where a query without a checkpoint starts: at the earliest or the latest offset, or at the offsets that the group "
    "has committed. A batch query reads from there to the end as of its planning.",
    allowed=(EARLIEST, LATEST, GROUP),
    default=GROUP,
)
DELIVERY_GUARANTEE: Final = enum(
    "sink.delivery-guarantee",
    "What a write promises: 'at-least-once' reports rows as written when all in-sync replicas have acknowledged them; "
    "a retried task may write rows again.",
    allowed=("at-least-once",),
    default="at-least-once",
)

KAFKA_OPTIONS: Final[tuple[Option[Any], ...]] = (
    CONNECTOR,
    TOPIC,
    BOOTSTRAP_SERVERS,
    GROUP_ID,
    FORMAT,
    VALUE_FORMAT,
    STARTUP_MODE,
    DELIVERY_GUARANTEE,
)
