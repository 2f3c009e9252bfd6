"""Windows of a real Flink over the same topic: the same rows, in a time zone whose clocks change."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from benchmarks.peer_process import PeerProcess
from benchmarks.peers import launch
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.long]  # Flink's libraries are 312 MB

ZONE = "America/New_York"
TIMES = [
    "1969-12-31 23:59:59.999",
    "1970-01-01 00:00:00.000",
    "1900-01-01 00:00:00.001",
    "2021-03-14 06:59:59.999",  # clocks are set forward at 07:00 UTC
    "2021-03-14 07:00:00.000",
    "2021-03-14 08:30:00.000",
    "2021-11-07 05:10:00.000",  # clocks are set back at 06:00 UTC
    "2021-11-07 05:59:59.999",
    "2021-11-07 06:10:00.000",
    "2021-11-07 06:59:59.999",
    "2021-11-07 07:00:00.000",
    "2021-11-08 04:59:59.999",
    "2021-11-08 05:00:00.000",
    "2021-11-07 05:10:00.000",
]
SOURCES = [
    "TABLE(TUMBLE(TABLE {t}, DESCRIPTOR({c}), INTERVAL '1' DAY))",
    "TABLE(TUMBLE(TABLE {t}, DESCRIPTOR({c}), INTERVAL '10' MINUTES))",
    "TABLE(TUMBLE(TABLE {t}, DESCRIPTOR({c}), INTERVAL '1' DAY, INTERVAL '5' HOUR))",
    "TABLE(TUMBLE(TABLE {t}, DESCRIPTOR({c}), INTERVAL '1' HOUR, INTERVAL '-7' MINUTE))",
    "TABLE(HOP(TABLE {t}, DESCRIPTOR({c}), INTERVAL '30' MINUTES, INTERVAL '90' MINUTES))",
    "TABLE(HOP(TABLE {t}, DESCRIPTOR({c}), INTERVAL '8' HOUR, INTERVAL '1' DAY, INTERVAL '1' HOUR))",
    "TABLE(CUMULATE(TABLE {t}, DESCRIPTOR({c}), INTERVAL '6' HOUR, INTERVAL '1' DAY))",
    "TABLE(CUMULATE(TABLE {t}, DESCRIPTOR({c}), INTERVAL '20' MINUTE, INTERVAL '2' HOUR, INTERVAL '50' MINUTE))",
]
TIMES_OF_WINDOW = "SELECT window_start, window_end, COUNT(*), MAX(k) FROM {source} GROUP BY window_start, window_end"


@pytest.fixture(scope="module")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeerProcess]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TZ", ZONE)
        with launch.start_flink(tmp_path_factory.mktemp("flink")) as process:
            yield process


@pytest.fixture
def table(flink: PeerProcess, spark: Any, sql: Callable[..., Any], topics: Topics) -> Iterator[str]:
    """Declare the same table in both engines: ``ts`` is a local time, ``instant`` is not."""
    name, topic = f"events_{uuid.uuid4().hex[:8]}", topics.create(2)
    create = f"CREATE TABLE {name} (k INT, ts TIMESTAMP(3), instant TIMESTAMP_LTZ(3)) " + topics.with_options(
        topic, **{"scan.bounded.mode": "latest-offset"}
    )
    flink.request("sql", text=create)
    sql(create)
    for k, time in enumerate(TIMES):
        record = {"k": k, "ts": time, "instant": f"{time}Z"}
        topics.produce(topic, json.dumps(record).encode(), partition=k % 2)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    yield name
    spark.conf.set("spark.sql.session.timeZone", zone)


def compare(flink: PeerProcess, sql: Callable[..., Any], query: str) -> int:
    """Check that both engines return the same rows; return their number."""
    theirs = sorted(tuple(map(parse, row)) for row in flink.request("sql", text=query)["rows"])
    mine = sorted(tuple(row) for row in sql(query).collect())
    assert mine == theirs, query
    return len(mine)


def parse(value: str) -> Any:
    return int(value) if value.lstrip("-").isdigit() else datetime.fromisoformat(value)


@pytest.mark.parametrize("column", ["ts", "instant"])
@pytest.mark.timeout(900)  # twenty jobs of Flink
def test_same_windows(flink: PeerProcess, sql: Callable[..., Any], table: str, column: str) -> None:
    counts = [
        compare(flink, sql, TIMES_OF_WINDOW.format(source=source.format(t=table, c=column))) for source in SOURCES
    ]
    assert all(count > 3 for count in counts)
    source = SOURCES[1].format(t=table, c=column)
    rows = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY k DESC) AS rn FROM {source}"
    compare(flink, sql, f"SELECT window_start, k, rn FROM ({rows}) WHERE rn <= 2")
    if column == "ts":  # Flink's batch mode has no group windows over TIMESTAMP_LTZ
        window = f"TUMBLE({column}, INTERVAL '1' DAY)"
        compare(
            flink,
            sql,
            f"SELECT TUMBLE_START({column}, INTERVAL '1' DAY), TUMBLE_END({column}, INTERVAL '1' DAY), COUNT(*) "
            f"FROM {table} GROUP BY {window}",
        )
        compare(
            flink,
            sql,
            f"SELECT window_end, window_time, COUNT(*) FROM {source} GROUP BY window_start, window_end, window_time",
        )
