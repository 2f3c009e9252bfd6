"""Options and columns of an upsert table, for tests of changelogs."""

from __future__ import annotations

from kafka_sql.table.declaration import Column

OPTIONS = {
    "connector": "upsert-kafka",
    "topic": "t",
    "properties.bootstrap.servers": "h:1",
    "key.format": "json",
    "value.format": "json",
    "value.fields-include": "EXCEPT_KEY",
}
COLUMNS = (
    Column("v", "BIGINT", "BIGINT"),
    Column("k", "STRING", "STRING", nullable=False),
    Column("o", "BIGINT", "BIGINT", metadata="offset", virtual=True),
)
