"""Event-time temporal joins of streams: the rows equal those of a real Flink's streams."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import launch
from tests.spark_versions import needs_limits
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.long]  # Flink's libraries are 312 MB

START, COUNT, KEYS = datetime(2026, 3, 2, 8), 1500, 12
LAST = "2026-03-03 08:00:00.000Z"  # of a last row per table: Spark joins the rows before the watermark, Flink all
DELAY = "INTERVAL '5' SECOND"
COLUMNS = "id INT, currency STRING, rate INT, PRIMARY KEY (id) NOT ENFORCED"
JOIN = """SELECT o.id, o.currency, r.rate FROM orders AS o
    {} {} FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency"""
QUERIES = {
    "upserts_left": JOIN.format("LEFT JOIN", "rates"),
    "upserts_inner": JOIN.format("JOIN", "rates"),
    "changes_left": JOIN.format("LEFT JOIN", "cdc_rates"),
    "changes_inner": JOIN.format("JOIN", "cdc_rates"),
    "view_left": JOIN.format("LEFT JOIN", "latest_rates"),
    "more_conditions": JOIN.format("LEFT JOIN", "rates") + " AND o.price > r.rate",
}
TABLES = f"""
CREATE TABLE orders (id INT, currency STRING, price INT, ts TIMESTAMP_LTZ(3),
WATERMARK FOR ts AS ts - {DELAY}) {{orders}};
CREATE TABLE rates (currency STRING, rate INT, valid TIMESTAMP_LTZ(3), WATERMARK FOR valid AS valid - {DELAY},
PRIMARY KEY (currency) NOT ENFORCED) {{rates}};
CREATE TABLE cdc_rates (currency STRING, rate INT,
valid TIMESTAMP_LTZ(3) METADATA FROM 'value.source.timestamp' VIRTUAL,
WATERMARK FOR valid AS valid - {DELAY}, PRIMARY KEY (currency) NOT ENFORCED) {{cdc}};
CREATE TABLE history (currency STRING, rate INT, valid TIMESTAMP_LTZ(3), WATERMARK FOR valid AS valid - {DELAY})
{{history}};
CREATE TEMPORARY VIEW latest_rates AS SELECT currency, rate, valid FROM (SELECT *, ROW_NUMBER() OVER (
PARTITION BY currency ORDER BY valid DESC) AS row_num FROM history) WHERE row_num = 1
"""


def _time(randoms: random.Random, number: int) -> datetime:
    """Return a time that is at most four seconds out of order, and different from the others."""
    return START + timedelta(milliseconds=number * 500 - randoms.randrange(4000) // 500 * 500 + number % 500)


def _format(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S.%f}"[:-3] + "Z"


def write_orders(topics: Topics, topic: str, randoms: random.Random) -> None:
    """Write orders of all keys, and of one without a rate."""
    rows = [
        {
            "id": n,
            "currency": f"c{randoms.randrange(KEYS + 1)}",
            "price": randoms.randrange(COUNT),
            "ts": _time(randoms, n),
        }
        for n in range(COUNT)
    ]
    payloads = [json.dumps({**row, "ts": _format(row["ts"])}).encode() for row in rows]
    topics.produce(topic, *payloads, json.dumps({"id": -1, "currency": "last", "price": 0, "ts": LAST}).encode())


def write_rates(topics: Topics, topic: str, randoms: random.Random) -> None:
    """Write versions. There are no tombstones: Flink 2.2 ignores them if the time is a column of the value."""

    def put(currency: str, rate: int, time: str) -> None:
        value = json.dumps({"currency": currency, "rate": rate, "valid": time}).encode()
        topics.produce(topic, value, key=json.dumps({"currency": currency}).encode())

    put("c0", 0, _format(START))
    for number in range(0, COUNT, 2):
        put(f"c{randoms.randrange(1, KEYS)}", number, _format(_time(randoms, number)))
    put("last", 1, LAST)


def write_changes(topics: Topics, topic: str, history: str, randoms: random.Random) -> None:
    """Write inserts, updates and deletes, each with its own time; and the new rows as a history."""
    rows: dict[str, dict[str, Any]] = {}
    times = [*sorted(_time(randoms, number) for number in range(0, COUNT, 2)), datetime.fromisoformat(LAST[:-1])]
    for number, time in enumerate(times):
        currency = f"c{randoms.randrange(KEYS)}" if number < len(times) - 1 else "last"
        before = rows.pop(currency, None)
        after = None if before is not None and randoms.random() < 0.3 else {"currency": currency, "rate": number}
        op = "d" if after is None else "c" if before is None else "u"
        rows |= {} if after is None else {currency: after}
        source = {"ts_ms": int((time - datetime(1970, 1, 1)).total_seconds() * 1000)}
        topics.produce(topic, json.dumps({"before": before, "after": after, "op": op, "source": source}).encode())
        if after is not None:
            topics.produce(history, json.dumps({**after, "valid": _format(time)}).encode())


@pytest.mark.timeout(1800)
@needs_limits
def test_temporal_joins(spark: Any, streaming: Any, topics: Topics, tmp_path: Path) -> None:
    names = {name: topics.create() for name in ("orders", "rates", "cdc", "history")}  # one partition each
    randoms = random.Random(11)
    write_orders(topics, names["orders"], randoms)
    write_rates(topics, names["rates"], randoms)
    write_changes(topics, names["cdc"], names["history"], randoms)

    def declare(**options: str) -> list[str]:
        bounded = {"scan.bounded.mode": "latest-offset", **options}
        tables = TABLES.format(
            orders=topics.with_options(names["orders"], **bounded),
            rates=topics.with_upsert_options(names["rates"], **bounded),
            cdc=topics.with_options(names["cdc"], format="debezium-json", **bounded),
            history=topics.with_options(names["history"], **bounded),
        )
        return [statement.strip() for statement in tables.split(";")]

    theirs = {name: topics.create() for name in QUERIES}
    with launch.start_flink(tmp_path, 1, "streaming") as flink:
        for statement in declare():
            flink.request("sql", text=statement)
        for name, query in QUERIES.items():
            flink.request("sql", text=f"CREATE TABLE {name} ({COLUMNS}) {topics.with_upsert_options(theirs[name])}")
            flink.request("sql", text=f"INSERT INTO {name} {query}")
    for statement in declare(**{"scan.max-offsets-per-trigger": "300"}):  # several micro-batches
        streaming(statement)
    for name, query in QUERIES.items():
        streaming(f"CREATE TABLE {name} ({COLUMNS}) {topics.with_upsert_options(topics.create(2))}")
        (job,) = streaming(f"INSERT INTO {name} {query}").collect()
        spark.streams.get(job[0]).awaitTermination()
    streaming("SET 'execution.runtime-mode' = 'batch'")
    differences = {}
    for name in QUERIES:
        streaming(f"CREATE TABLE flink_{name} ({COLUMNS}) {topics.with_upsert_options(theirs[name])}")
        mine, flinks = (
            {tuple(row) for row in streaming(f"SELECT * FROM {table} WHERE id >= 0").collect()}
            for table in (name, f"flink_{name}")
        )
        print(f"{name}: {len(mine)} rows, Flink {len(flinks)}, {sum(row[2] is None for row in mine)} without a rate")
        if mine != flinks or len(mine) < COUNT // 3:
            differences[name] = sorted(mine - flinks, key=str)[:5], sorted(flinks - mine, key=str)[:5]
    streaming("DROP VIEW latest_rates")
    assert differences == {}
