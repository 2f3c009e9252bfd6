"""Define the options that choose the Kafka client of a table."""

from __future__ import annotations

from typing import Final

from kafka_sql.options.option import enum

AUTO: Final = "auto"
DIRECT: Final = "direct"
LIBRDKAFKA: Final = "librdkafka"
_CLIENTS: Final = (AUTO, DIRECT, LIBRDKAFKA)
SCAN_CLIENT: Final = enum(
    "scan.client",
    "Kafka client that reads the table. 'auto': the direct client, which is faster, and librdkafka for what the direct "
    "client does not support; the reason is logged. 'direct': never librdkafka; what the direct client does not "
    "support is an error. 'librdkafka': always librdkafka.",
    allowed=_CLIENTS,
    default=AUTO,
)
SINK_CLIENT: Final = enum(
    "sink.client",
    "Kafka client that writes the table, and the dead letters of its undecodable records. The values are those of "
    "'scan.client'.",
    allowed=_CLIENTS,
    default=AUTO,
)
