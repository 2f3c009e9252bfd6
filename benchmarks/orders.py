"""The records that are measured, and the same table and query in the words of each peer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.peers.launch import FLINK, OURS, SPARK

FIELDS: Final = {
    "order_id": "BIGINT",
    "user_id": "BIGINT",
    "product": "STRING",
    "price": "DOUBLE",
    "quantity": "INT",
    "status": "STRING",
    "country": "STRING",
    "paid": "BOOLEAN",
    "ts": "BIGINT",
}
COLUMNS: Final = ", ".join(f"{name} {kind}" for name, kind in FIELDS.items())

# arithmetic that Spark and Flink have in the same words and with the same results
ROW: Final = (
    "id AS order_id, id * 7919 % 100000 AS user_id, concat('product-', CAST(id % 1000 AS STRING)) AS product, "
    "CAST(id * 31 % 50000 AS DOUBLE) / 100 AS price, CAST(id % 9 + 1 AS INT) AS quantity, "
    "CASE id % 4 WHEN 0 THEN 'new' WHEN 1 THEN 'paid' WHEN 2 THEN 'shipped' ELSE 'done' END AS status, "
    "CASE id % 5 WHEN 0 THEN 'DE' WHEN 1 THEN 'FR' WHEN 2 THEN 'US' WHEN 3 THEN 'CN' ELSE 'BR' END AS country, "
    "id % 2 = 0 AS paid, 1700000000000 + id AS ts"
)
# sums and not greatest texts: for those Spark sorts and copies, which is most of the time, whoever reads
_EVERY_FIELD: Final = (
    "count(*), sum(order_id), sum(user_id), sum(CAST(price * 100 AS BIGINT)), sum(quantity), sum(CAST(paid AS INT)), "
    "max(ts), " + ", ".join(f"sum(CAST(char_length({text}) AS BIGINT))" for text in ("product", "status", "country"))
)
_TEXTS: Final = ", ".join(f"min({text}), max({text})" for text in ("product", "status", "country"))
_AVRO: Final = {"BIGINT": "long", "STRING": "string", "DOUBLE": "double", "INT": "int", "BOOLEAN": "boolean"}


@dataclass(frozen=True)
class Topic:
    """Records on a broker.

    Attributes:
        filler: bytes of a further text column, which makes them larger.
    """

    name: str
    format: str
    records: int
    partitions: int
    bootstrap: str
    registry: str = ""
    filler: int = 0

    @property
    def columns(self) -> str:
        """The columns and their types."""
        return COLUMNS + (", note STRING" if self.filler else "")

    @property
    def fields(self) -> dict[str, str]:
        """The same by name."""
        return {**FIELDS, **({"note": "STRING"} if self.filler else {})}


def definition(table: str, topic: Topic, more: Mapping[str, str] | None = None) -> str:
    """CREATE TABLE, which this project and Flink share; of the raw format with the bytes."""
    options = {
        "connector": "kafka",
        "topic": topic.name,
        "properties.bootstrap.servers": topic.bootstrap,
        "properties.group.id": "benchmark",
        "scan.startup.mode": "earliest-offset",
        "scan.bounded.mode": "latest-offset",
        "format": topic.format,
        **({"avro-confluent.url": topic.registry} if topic.format == "avro-confluent" else {}),
        **(more or {}),
    }
    columns = "`value` BYTES" if topic.format == "raw" else topic.columns
    return f"CREATE TABLE {table} ({columns}) WITH (" + ", ".join(f"'{k}' = '{v}'" for k, v in options.items()) + ")"


def rows(topic: Topic, numbers: str) -> str:
    """The query that makes the records.

    Args:
        numbers: a table of the column id.
    """
    note = f", repeat('x', {topic.filler}) AS note" if topic.filler else ""
    return f"SELECT {ROW}{note} FROM {numbers}"


def every_field(topic: Topic) -> str:
    """The select list that uses every field of every record; the count of all is first."""
    if topic.format == "raw":
        return "count(`value`)"
    return _EVERY_FIELD + (", count(note)" if topic.filler else "")


def texts(topic: Topic) -> str:
    """The select list that looks into the texts, too, whose lengths alone every_field takes."""
    return every_field(topic) if topic.format == "raw" else _TEXTS + (", min(note), max(note)" if topic.filler else "")


def prepared(peer: str, topic: Topic) -> list[str]:
    """The statements by which a peer knows the topic as a table of its name."""
    if peer in (OURS, FLINK):
        return [f"DROP TABLE IF EXISTS {topic.name}", definition(topic.name, topic)]
    assert peer == SPARK
    options = f"'kafka.bootstrap.servers' '{topic.bootstrap}', subscribe '{topic.name}'"
    return [
        f"CREATE OR REPLACE TEMPORARY VIEW {topic.name}_records USING kafka OPTIONS ({options})",
        f"CREATE OR REPLACE TEMPORARY VIEW {topic.name} AS {_parsed(topic)}",
    ]


def _parsed(topic: Topic) -> str:
    """Spark's functions that take a payload apart."""
    if topic.format == "raw":
        return f"SELECT value FROM {topic.name}_records"
    if topic.format in ("json", "csv"):
        row = f"from_{topic.format}(CAST(value AS STRING), '{topic.columns}')"
    else:  # the five bytes of the wire format are cut off: Spark knows no registry
        payload = "substring(value, 6)" if topic.format == "avro-confluent" else "value"
        row = f"from_avro({payload}, '{avro_schema(topic)}')"
    return f"SELECT r.* FROM (SELECT {row} AS r FROM {topic.name}_records)"


def avro_schema(topic: Topic) -> str:
    """What this project derives from the columns: all of them nullable."""
    fields = ", ".join(
        f'{{"name": "{name}", "type": ["null", "{_AVRO[kind]}"], "default": null}}'
        for name, kind in topic.fields.items()
    )
    return f'{{"type": "record", "name": "record", "fields": [{fields}]}}'
