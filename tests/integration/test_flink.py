"""Interoperability with Flink SQL: the same DDL, and each reads what the other writes exactly once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peer_process import PeerProcess
from benchmarks.peers import launch
from kafka_sql.embedded import EmbeddedRegistry
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.long]  # Flink's libraries are 312 MB

COLUMNS = """(
  `at` TIMESTAMP(3) METADATA FROM 'timestamp',
  `notes` MAP<STRING, BYTES> METADATA FROM 'headers',
  `k_id` BIGINT,
  `name` STRING,
  `price` DECIMAL(10, 2),
  `ratio` DOUBLE,
  `paid` BOOLEAN,
  `day` DATE,
  `placed` TIMESTAMP(3)
)"""
ROWS = [
    ("2026-01-02 03:04:05.678", 1, "'Grün'", "12.50", "0.25", "TRUE", "DATE '2026-02-28'", "'2026-02-28 23:59:59.9'"),
    (
        "2026-01-02 03:04:06.000",
        2,
        "'a \"b\", c'",
        "-0.01",
        "-2.75",
        "FALSE",
        "NULL",
        "'1969-12-31 00:00:00.001'",
    ),
    ("2026-01-02 03:04:07.001", 3, "NULL", "NULL", "NULL", "NULL", "DATE '0001-01-01'", "NULL"),
]
# each column as a string with the same representation in both engines
QUERY = (
    "SELECT CAST(k_id AS STRING), name, CAST(price AS STRING), CAST(CAST(ratio AS INT) AS STRING),"
    " CAST(paid AS STRING), CAST(`day` AS STRING), CAST(placed AS STRING), CAST(`at` AS STRING), "
    " CAST(CARDINALITY(notes) AS STRING) FROM {}"
)


@pytest.fixture(scope="module")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeerProcess]:
    with launch.start_flink(tmp_path_factory.mktemp("flink")) as process:
        yield process


@pytest.fixture(params=["json", "csv", "avro", "avro-confluent"])
def table(request: pytest.FixtureRequest, topics: Topics) -> tuple[str, str]:
    """Return a table name and its CREATE TABLE statement, which is the same in both engines."""
    name = f"both_{uuid.uuid4().hex[:8]}"
    format_options = ""
    if request.param == "csv":
        format_options = "'value.csv.null-literal' = 'n/a', "
    if request.param == "avro-confluent":
        registry: EmbeddedRegistry = request.getfixturevalue("registry")
        format_options = f"'value.avro-confluent.url' = '{registry.url}', "
    return (
        name,
        f"""
        CREATE TABLE {name} {COLUMNS} WITH (
          'connector' = 'kafka',
          'topic' = '{topics.create(3)}',
          'properties.bootstrap.servers' = '{topics.bootstrap}',
          'properties.isolation.level' = 'read_committed',
          'properties.transaction.timeout.ms' = '600000',
          'scan.startup.mode' = 'earliest-offset',
          'scan.bounded.mode' = 'latest-offset',
          'sink.delivery-guarantee' = 'exactly-once',
          'sink.transactional-id-prefix' = '{name}',
          'key.format' = 'raw',
          'key.fields' = 'k_id',
          'key.fields-prefix' = 'k_',
          'value.fields-include' = 'EXCEPT_KEY',
          {format_options}'value.format' = '{request.param}'
        )""",
    )


def insert(name: str) -> str:
    """Return an INSERT statement for the rows. Casts avoid engine-specific timestamp literals."""
    values = [
        f"SELECT CAST('{at}' AS TIMESTAMP(3)), MAP['source', CAST('x' AS BYTES), 'empty', CAST('' AS BYTES)],"
        f" CAST({key} AS BIGINT), CAST({text} AS STRING), CAST({price} AS DECIMAL(10, 2)), CAST({ratio} AS DOUBLE),"
        f" CAST({paid} AS BOOLEAN), CAST({day} AS DATE), CAST({placed} AS TIMESTAMP(3))"
        for at, key, text, price, ratio, paid, day, placed in ROWS
    ]
    return f"INSERT INTO {name} " + " UNION ALL ".join(values)


def to_spark_sql(query: str) -> str:
    """Return the query in Spark's dialect. (Table declarations use Flink's dialect in both engines.)"""
    for flink_syntax, spark_syntax in (("MAP[", "map("), ("BYTES)]", "BINARY))"), ("BYTES", "BINARY")):
        query = query.replace(flink_syntax, spark_syntax)
    return query.replace("TIMESTAMP(3)", "TIMESTAMP_NTZ")


def test_flink_writes_and_this_reads(flink: PeerProcess, sql: Callable[..., Any], table: tuple[str, str]) -> None:
    name = declare(flink, sql, table)
    for _ in range(2):
        flink.request("sql", text=insert(name))
    assert_same_rows(flink, sql, name)


def test_this_writes_and_flink_reads(flink: PeerProcess, sql: Callable[..., Any], table: tuple[str, str]) -> None:
    name = declare(flink, sql, table)
    for _ in range(2):
        sql(to_spark_sql(insert(name)))
    assert_same_rows(flink, sql, name)


def declare(flink: PeerProcess, sql: Callable[..., Any], table: tuple[str, str]) -> str:
    """Declare a table in both engines and return its name."""
    name, create = table
    flink.request("sql", text=create)
    sql(create)
    return name


def assert_same_rows(flink: PeerProcess, sql: Callable[..., Any], name: str) -> None:
    """Check that both engines read the same values, each row twice."""
    theirs = flink.request("sql", text=QUERY.format(name))["rows"]
    mine = sql(f"SELECT * FROM {name}").collect()
    assert len(mine) == len(theirs) == 2 * len(ROWS)
    assert sorted(map(as_flink_strings, mine)) == sorted(map(tuple, theirs))


def as_flink_strings(row: Any) -> tuple[str, ...]:
    """Return a row of Spark as strings, in the form of Flink's query."""

    def text(value: object) -> str:
        return "null" if value is None else str(value)

    def time(value: Any) -> str:
        return "null" if value is None else value.isoformat(" ", "milliseconds")

    return (
        str(row.k_id),
        text(row.name),
        text(row.price),
        text(None if row.ratio is None else int(row.ratio)),
        text(None if row.paid is None else str(row.paid).upper()),
        text(row.day),
        time(row.placed),
        time(row["at"]),
        str(len(row.notes)),
    )


VERSIONED_TABLES = """
CREATE TABLE orders_{n} (id INT, currency STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
  'connector' = 'kafka', 'topic' = '{orders}', 'properties.bootstrap.servers' = '{bootstrap}',
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json'
);
CREATE TABLE rates_{n} (
  currency STRING, rate INT, valid TIMESTAMP(3), WATERMARK FOR valid AS valid - INTERVAL '9' HOUR,
  PRIMARY KEY (currency) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka', 'topic' = '{rates}', 'properties.bootstrap.servers' = '{bootstrap}',
  'scan.bounded.mode' = 'latest-offset', 'key.format' = 'json', 'value.format' = 'json'
);
CREATE TABLE cdc_{n} (
  currency STRING, rate INT, valid TIMESTAMP(3), WATERMARK FOR valid AS valid - INTERVAL '9' HOUR,
  PRIMARY KEY (currency) NOT ENFORCED
) WITH (
  'connector' = 'kafka', 'topic' = '{cdc}', 'properties.bootstrap.servers' = '{bootstrap}',
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'debezium-json'
);
CREATE TABLE history_{n} (currency STRING, rate INT, valid TIMESTAMP(3), WATERMARK FOR valid AS valid) WITH (
  'connector' = 'kafka', 'topic' = '{history}', 'properties.bootstrap.servers' = '{bootstrap}',
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json'
);
CREATE {temporary} VIEW view_{n} AS SELECT currency, rate, valid FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY valid DESC) AS row_num FROM history_{n}) WHERE row_num = 1
"""


@pytest.mark.timeout(900)
def test_temporal_joins(sql: Callable[..., Any], topics: Topics, tmp_path: Path) -> None:
    names = {name: topics.create() for name in ("orders", "rates", "cdc", "history")}
    n = uuid.uuid4().hex[:8]
    versions = [("EUR", 1, "09:00"), ("USD", 9, "09:00"), ("EUR", 2, "10:00"), ("EUR", 3, "10:00"), ("YEN", 7, "09:30")]
    versions += [("EUR", 4, "12:00"), ("EUR", 5, "11:00")]  # the last one is out of order
    before: dict[str, Any] = {}
    for currency, rate, time in versions:
        row = {"currency": currency, "rate": rate, "valid": f"2026-01-01 {time}:00"}
        topics.produce(names["rates"], json.dumps(row).encode(), key=json.dumps({"currency": currency}).encode())
        if rate not in (2, 5):  # Flink's deduplication ignores rows that are out of order
            topics.produce(names["history"], json.dumps(row).encode())
        event = {"before": before.get(currency), "after": row, "op": "u" if currency in before else "c"}
        topics.produce(names["cdc"], json.dumps(event).encode())
        before[currency] = row
    topics.produce(names["cdc"], json.dumps({"before": before["YEN"], "after": None, "op": "d"}).encode())
    times = ("08:59", "09:00", "09:59", "10:00", "10:59", "11:00", "11:59", "12:00", "12:01")
    for id, (currency, time) in enumerate((c, t) for c in ("EUR", "USD", "YEN", "GBP") for t in times):
        order = {"id": id, "currency": currency, "ts": f"2026-01-01 {time}:00"}
        topics.produce(names["orders"], json.dumps(order).encode())
    with launch.start_flink(tmp_path, 1, "streaming") as flink:
        for statement in VERSIONED_TABLES.format(n=n, bootstrap=topics.bootstrap, temporary="", **names).split(";"):
            flink.request("sql", text=statement.strip())
        for statement in VERSIONED_TABLES.format(n=n, bootstrap=topics.bootstrap, temporary="TEMPORARY", **names).split(
            ";"
        ):
            sql(statement.strip())
        for right in ("rates", "cdc", "view"):
            for join in ("JOIN", "LEFT JOIN"):
                query = (
                    f"SELECT o.id, v.rate FROM orders_{n} AS o {join} {right}_{n} FOR SYSTEM_TIME AS OF o.ts AS v "
                    "ON o.currency = v.currency"
                )
                theirs = [tuple(row) for row in flink.request("sql", text=query)["rows"]]
                mine = [(str(row.id), "null" if row.rate is None else str(row.rate)) for row in sql(query).collect()]
                assert sorted(mine) == sorted(theirs), query
                assert len(mine) >= 16
    sql(f"DROP VIEW view_{n}")
