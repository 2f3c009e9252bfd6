"""Options and columns of tables that are changelogs."""

from __future__ import annotations

from kafka_sql.table.table import Column

UPSERT_OPTIONS = {
    "connector": "upsert-kafka",
    "topic": "t",
    "properties.bootstrap.servers": "h:1",
    "key.format": "json",
    "value.format": "json",
    "value.fields-include": "EXCEPT_KEY",
}
DEBEZIUM_OPTIONS = {
    "connector": "kafka",
    "topic": "t",
    "properties.bootstrap.servers": "h:1",
    "scan.startup.mode": "earliest-offset",
    "format": "debezium-json",
}
COLUMNS = (
    Column("v", "BIGINT", "BIGINT"),
    Column("k", "STRING", "STRING", nullable=False),
    Column("o", "BIGINT", "BIGINT", metadata="offset", virtual=True),
)
