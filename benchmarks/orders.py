"""Define the measured records, and the table and query in the SQL dialect of each peer."""

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
COLUMNS: Final = ", ".join(f"{name} {column_type}" for name, column_type in FIELDS.items())

# expressions with the same syntax and results in Spark and Flink
ROW: Final = (
    "id AS order_id, id * 7919 % 100000 AS user_id, concat('product-', CAST(id % 1000 AS STRING)) AS product, "
    "CAST(id * 31 % 50000 AS DOUBLE) / 100 AS price, CAST(id % 9 + 1 AS INT) AS quantity, "
    "CASE id % 4 WHEN 0 THEN 'new' WHEN 1 THEN 'paid' WHEN 2 THEN 'shipped' ELSE 'done' END AS status, "
    "CASE id % 5 WHEN 0 THEN 'DE' WHEN 1 THEN 'FR' WHEN 2 THEN 'US' WHEN 3 THEN 'CN' ELSE 'BR' END AS country, "
    "id % 2 = 0 AS paid, 1700000000000 + id AS ts"
)
# sums instead of max() of strings, for which Spark would spend most of the time sorting and copying
_SELECT_LIST: Final = (
    "count(*), sum(order_id), sum(user_id), sum(CAST(price * 100 AS BIGINT)), sum(quantity), sum(CAST(paid AS INT)), "
    "max(ts), " + ", ".join(f"sum(CAST(char_length({text}) AS BIGINT))" for text in ("product", "status", "country"))
)
_STRING_EXTREMES: Final = ", ".join(f"min({text}), max({text})" for text in ("product", "status", "country"))
# two headers of each record: an array in Spark's own sink, a map in the tables of the others
_HEADERS: Final = {
    OURS: "map('trace', CAST(CAST(order_id AS STRING) AS BINARY), 'origin', CAST(country AS BINARY))",
    SPARK: "array(named_struct('key', 'trace', 'value', CAST(CAST(order_id AS STRING) AS BINARY)), "
    "named_struct('key', 'origin', 'value', CAST(country AS BINARY)))",
    FLINK: "MAP['trace', CAST(CAST(order_id AS STRING) AS BYTES), 'origin', CAST(country AS BYTES)]",
}
_AVRO: Final = {"BIGINT": "long", "STRING": "string", "DOUBLE": "double", "INT": "int", "BOOLEAN": "boolean"}


@dataclass(frozen=True)
class Topic:
    """A topic with records.

    Attributes:
        name: name of the topic.
        format: format of the values.
        records: number of records.
        partitions: number of partitions.
        bootstrap: bootstrap servers.
        registry: URL of the schema registry.
        filler: size in bytes of an additional string column, for larger records.
        compression: the codec with which producers compress the records.
        has_headers: whether the records have headers.
    """

    name: str
    format: str
    records: int
    partitions: int
    bootstrap: str
    registry: str = ""
    filler: int = 0
    compression: str = "none"
    has_headers: bool = False

    @property
    def columns(self) -> str:
        """Columns with their types, for CREATE TABLE."""
        return COLUMNS + (", note STRING" if self.filler else "")

    @property
    def fields(self) -> dict[str, str]:
        """Name of each column -> its type."""
        return {**FIELDS, **({"note": "STRING"} if self.filler else {})}


def create_table(table: str, topic: Topic, extra_options: Mapping[str, str] | None = None) -> str:
    """Return a CREATE TABLE statement for this project and Flink. With format 'raw', the only column has the bytes."""
    options = {
        "connector": "kafka",
        "topic": topic.name,
        "properties.bootstrap.servers": topic.bootstrap,
        "properties.group.id": "benchmark",
        "scan.startup.mode": "earliest-offset",
        "scan.bounded.mode": "latest-offset",
        "format": topic.format,
        "properties.compression.type": topic.compression,
        **({"avro-confluent.url": topic.registry} if topic.format == "avro-confluent" else {}),
        **(extra_options or {}),
    }
    columns = "`value` BYTES" if topic.format == "raw" else topic.columns
    columns += ", headers MAP<STRING, BYTES> METADATA" if topic.has_headers else ""
    return f"CREATE TABLE {table} ({columns}) WITH (" + ", ".join(f"'{k}' = '{v}'" for k, v in options.items()) + ")"


def select_rows(topic: Topic, numbers: str) -> str:
    """Return the query that computes the records.

    Args:
        topic: the topic.
        numbers: a table with column ``id``.
    """
    note = f", repeat('x', {topic.filler}) AS note" if topic.filler else ""
    return f"SELECT {ROW}{note} FROM {numbers}"


def select_headers(peer: str, topic: Topic) -> str:
    """Return what a peer adds to the select list over the rows of ``select_rows`` to write headers."""
    return f", {_HEADERS[peer]} AS headers" if topic.has_headers else ""


def select_list(topic: Topic) -> str:
    """Return a select list that reads all fields of all records. The first column is the number of records."""
    if topic.format == "raw":
        return "count(`value`)"
    return _SELECT_LIST + (", count(note)" if topic.filler else "")


def string_extremes(topic: Topic) -> str:
    """Return a select list that compares strings, of which ``select_list`` only uses the lengths."""
    return (
        select_list(topic)
        if topic.format == "raw"
        else _STRING_EXTREMES + (", min(note), max(note)" if topic.filler else "")
    )


def declare_statements(peer: str, topic: Topic) -> list[str]:
    """Return the statements with which a peer declares the topic as a table of the same name."""
    if peer in (OURS, FLINK):
        return [f"DROP TABLE IF EXISTS {topic.name}", create_table(topic.name, topic)]
    assert peer == SPARK
    options = f"'kafka.bootstrap.servers' '{topic.bootstrap}', subscribe '{topic.name}'"
    return [
        f"CREATE OR REPLACE TEMPORARY VIEW {topic.name}_records USING kafka OPTIONS ({options})",
        f"CREATE OR REPLACE TEMPORARY VIEW {topic.name} AS {_decoding_query(topic)}",
    ]


def _decoding_query(topic: Topic) -> str:
    """Return Spark's query that decodes the payloads."""
    if topic.format == "raw":
        return f"SELECT value FROM {topic.name}_records"
    if topic.format in ("json", "csv"):
        row = f"from_{topic.format}(CAST(value AS STRING), '{topic.columns}')"
    else:  # strip the five bytes of the wire format: Spark has no support for registries
        payload = "substring(value, 6)" if topic.format == "avro-confluent" else "value"
        row = f"from_avro({payload}, '{avro_schema(topic)}')"
    return f"SELECT r.* FROM (SELECT {row} AS r FROM {topic.name}_records)"


def avro_schema(topic: Topic) -> str:
    """Return the schema that this project derives from the columns, which are all nullable."""
    fields = ", ".join(
        f'{{"name": "{name}", "type": ["null", "{_AVRO[column_type]}"], "default": null}}'
        for name, column_type in topic.fields.items()
    )
    return f'{{"type": "record", "name": "record", "fields": [{fields}]}}'
