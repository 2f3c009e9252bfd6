"""Parts of the benchmark that need neither Kafka nor Spark."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks import engines, real_time, streams
from benchmarks.__main__ import ON_DEMAND, PARTS
from benchmarks.comparison import DisagreementError, Result
from benchmarks.orders import Topic
from benchmarks.page import RESULTS
from benchmarks.peer_process import PeerError, PeerProcess
from benchmarks.peers import environments
from benchmarks.peers.launch import FLINK, OURS, SPARK
from benchmarks.peers.totals import Totals
from benchmarks.peers.workers import run_workers
from benchmarks.report import format_table, format_value, load, save
from benchmarks.setups import SETUPS, describe_setup
from tests.documents import ROOT
from tests.unit.work import add_to_all, fail


def row(number: int, **other: object) -> dict[str, Any]:
    return {
        "order_id": number,
        "user_id": 2 * number,
        "product": f"product-{number}",
        "price": number + 0.25,
        "quantity": 3,
        "status": "paid",
        "country": "DE",
        "paid": number % 2 == 0,
        "ts": 100 - number,
        **other,
    }


def test_totals_are_those_of_the_query() -> None:
    totals = Totals(with_extremes=False)
    totals.add([row(1), row(10)])
    # count, ids, users, cents, quantities, paid, ts, and the lengths of product, status and country
    assert totals.row() == ["2", "11", "22", "1150", "6", "1", "99", "19", "8", "4"]


def test_totals_of_workers_are_merged() -> None:
    parts = [Totals(with_extremes=False) for _ in range(3)]
    parts[0].add([row(1)])
    parts[1].add([row(10)])
    assert parts[0].merge(parts[1]).merge(parts[2]).row() == ["2", "11", "22", "1150", "6", "1", "99", "19", "8", "4"]


def test_the_extremes_of_workers_are_merged() -> None:
    parts = [Totals(with_extremes=True) for _ in range(3)]
    parts[1].add([row(1, status="new"), row(2, status="shipped")])
    parts[2].add([row(3, status="done", country="BR")])
    merged = parts[0].merge(parts[1]).merge(parts[2])
    assert merged.row() == ["product-1", "product-3", "done", "shipped", "BR", "DE"]


def test_workers_share_their_progress() -> None:
    seconds, outputs = run_workers(add_to_all, {"number": 5}, 2)
    assert sorted(outputs) == [(0, 10), (1, 10)]
    assert 0 < seconds < 60


def test_a_failed_worker_fails_the_run() -> None:
    with pytest.raises(RuntimeError, match=r"^ValueError: worker 0 has no topic$"):
        run_workers(fail, {}, 1)


PEER = """
from benchmarks.peers.serving import serve

class Handler:
    def double(self, number):
        print("from a library")
        return {"doubled": number * 2}

serve(Handler)
"""


def test_a_peer_answers_requests_and_reports_errors(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(ROOT)}
    with PeerProcess("test", [sys.executable, "-c", PEER], tmp_path / "log", environment) as peer:
        assert peer.request("double", number=4) == {"doubled": 8}
        with pytest.raises(PeerError, match=r"^test: 'Handler' object has no attribute 'halve'$"):
            peer.request("halve")
        assert peer.request("double", number=5) == {"doubled": 10}
    assert "from a library" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("module", ["serving", "workers", "totals"])
def test_what_engines_import_needs_the_standard_library_only(module: str) -> None:
    packages = "{name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)"
    code = f"import sys, benchmarks.peers.{module}; print({packages} - {{'__main__', '__mp_main__'}})"
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{'benchmarks'}"


def test_each_engine_has_pinned_packages_and_a_module() -> None:
    packages = environments.pinned_packages(Path(environments.__file__).with_name("engines.lock").read_text())
    assert packages.keys() == environments.MODULES.keys()
    assert all(
        re.fullmatch(r"[a-z-]+(\[[a-z]+\])?==[0-9.]+", package) for pins in packages.values() for package in pins
    )
    assert environments.engine_versions() == {name: pins[0].partition("==")[2] for name, pins in packages.items()}
    for module in environments.MODULES.values():
        assert (ROOT / "benchmarks" / "peers" / f"{module}.py").exists()


def test_a_quantile() -> None:
    latencies = [n / 1000 for n in range(200)][::-1]
    assert (real_time.quantile(latencies, 50), real_time.quantile(latencies, 99)) == (0.1, 0.198)


def test_the_setup_of_a_table() -> None:
    assert describe_setup("read", [OURS, SPARK, FLINK]) == (
        "Clients: the direct client (kafka_sql); Java's client (Spark's connector, Flink SQL). "
        "Compression: none, or as named in the row. Spark: batch, `local[2]`. Flink: batch, parallelism 2."
    )


def test_a_table_without_flink_does_not_describe_it() -> None:
    assert "Flink" not in describe_setup("read", [OURS, SPARK])


def test_each_part_and_each_published_table_has_a_setup() -> None:
    assert SETUPS.keys() == PARTS.keys()
    assert set(ON_DEMAND) <= PARTS.keys()
    _, results = load(RESULTS)
    peers_of: dict[str, list[str]] = {}
    for result in results:
        peers_of.setdefault(result.group, []).append(result.peer)
    for group, peers in peers_of.items():
        setup = describe_setup(group, [*dict.fromkeys(peers)])
        clients = setup.partition("Compression")[0]
        assert [peer for peer in peers if peer not in clients] == [], group
        assert "Spark: " in setup or SPARK not in peers


def test_a_table_is_below_its_setup() -> None:
    results = [Result("latency", "p50", OURS, [0.0042]), Result("latency", "p50", SPARK, [0.0021])]
    setup = describe_setup("latency", [OURS, SPARK])
    assert format_table(results).splitlines() == [
        setup,
        "",
        "| latency | kafka_sql | Spark's connector | against Spark's connector |",
        "|---|---|---|---|",
        "| p50 | 4.2 ms | 2.1 ms | 2.00 |",
    ]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Result("read", "json", OURS, [2.0], records=1_000_000), "500 k/s"),
        (Result("latency", "p50", OURS, [0.0199]), "19.9 ms"),
        (Result("latency", "p50", OURS, [0.02]), "20 ms"),
        (Result("start", "first query", OURS, [5.837]), "5,837 ms"),
        (Result("stages", "raw", OURS, [0.36], unit="us"), "0.36 us"),
    ],
)
def test_the_value_of_a_result(result: Result, expected: str) -> None:
    assert format_value(result) == expected


def test_results_are_stored_in_the_order_of_the_parts(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    for group in ("stream", "read", "engines", "read"):
        results = save(Result(group, "json", OURS, [1.0]), path)
    assert [r.group for r in results] == ["read", "stream", "engines"]
    assert [r["group"] for r in json.loads(path.read_text())["results"]] == ["read", "stream", "engines"]


class FakePeer:
    """A peer without a process. It records requests, and returns the same rows for each."""

    def __init__(self, name: str, rows: object = (("1",),)) -> None:
        self.name, self.pid, self.rows = name, os.getpid(), rows
        self.requests: list[dict[str, Any]] = []

    def request(self, do: str, **arguments: Any) -> dict[str, Any]:
        self.requests.append({"do": do, **arguments})
        return {"seconds": 2.0, "rows": self.rows}


class FakeCluster:
    """A cluster without a broker. It has only the names of topics."""

    def __init__(self) -> None:
        self.topics: set[str] = set()

    def create(self, topic: str, partitions: int) -> None:
        self.topics.add(topic)

    def delete(self, topic: str) -> None:
        self.topics.remove(topic)


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> tuple[Topic, Topic]:
    monkeypatch.setattr(streams, "warm_page_cache", lambda size: None)
    backlog, warm_up = (Topic(name, "json", n, 4, "broker:9092") for name, n in (("backlog", 1000), ("warm_up", 10)))
    return backlog, warm_up


def test_engines_do_the_work_of_the_parts_read_and_stream(topics: tuple[Topic, Topic], tmp_path: Path) -> None:
    ours, bytewax, cluster = FakePeer(OURS), FakePeer(environments.BYTEWAX), FakeCluster()
    peers: Any = [ours, bytewax]
    results = list(engines.measure_engines(*topics, peers, cast(Any, cluster), tmp_path, runs=2))
    copies = ["pass-through, at-least-once", "filter, at-least-once"]
    expected = [
        ("read", 1000, "s"),
        *((r, *u) for c in copies for r, u in ((c, (1000, "s")), (f"{c}: CPU per record", (0, "us")))),
    ]
    assert [(r.comparison, r.records, r.unit) for r in results] == [row for row in expected for _ in peers]
    assert [r.peer for r in results] == [OURS, environments.BYTEWAX] * 5
    assert {len(r.values) for r in results} == {2}
    reads = [(r["topic"], r["records"], r["with_extremes"]) for r in bytewax.requests if r["do"] == "read"]
    assert reads == [("warm_up", 10, True), ("warm_up", 10, False), *[("backlog", 1000, False)] * 2]
    copied = [(r["source"], r["records"], r["minimum"]) for r in bytewax.requests if r["do"] == "stream"]
    assert copied == [(t, n, m) for m in (None, 250) for t, n in (("warm_up", 10), *[("backlog", 1000)] * 2)]
    inserts = [r["text"] for r in ours.requests if r["do"] == "insert_stream"]
    assert [text.partition("SELECT ")[2] for text in inserts[:4:3]] == [
        "* FROM warm_up",
        "* FROM warm_up WHERE price > 250",
    ]
    assert cluster.topics == set()  # the targets are deleted


def test_rows_of_the_engines_can_be_selected(topics: tuple[Topic, Topic], tmp_path: Path) -> None:
    peers: Any = [FakePeer(OURS), FakePeer(environments.QUIX)]
    results = engines.measure_engines(*topics, peers, cast(Any, FakeCluster()), tmp_path, 1, [engines.READ])
    assert [r.comparison for r in results] == ["read", "read"]


def test_an_engine_with_another_result_fails_the_run(topics: tuple[Topic, Topic], tmp_path: Path) -> None:
    peers: Any = [FakePeer(OURS), FakePeer(environments.PATHWAY, rows=[["2"]])]
    with pytest.raises(DisagreementError, match=r"^engines, read: the peers returned different results"):
        list(engines.measure_engines(*topics, peers, cast(Any, FakeCluster()), tmp_path, runs=1))


def test_streams_of_spark_have_no_exactly_once(topics: tuple[Topic, Topic], tmp_path: Path) -> None:
    peers: Any = [FakePeer(OURS), FakePeer(SPARK), FakePeer(FLINK)]
    results = streams.measure_streams(*topics, peers, cast(Any, FakeCluster()), tmp_path, 1, ["filter"])
    assert [(r.comparison, r.peer) for r in results if r.unit == "s"] == [
        *(("filter, at-least-once", peer) for peer in (OURS, SPARK, FLINK)),
        *(("filter, exactly-once", peer) for peer in (OURS, FLINK)),
    ]


def test_latencies_are_measured_in_both_modes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    measured: list[tuple[str, int, str]] = []

    def measure(mode: str, rate: int, warm_up: float, seconds: float, process: FakePeer, *rest: object) -> list[float]:
        measured.append((mode, rate, process.name))
        return [len(measured) / 1000] * 99 + [1.0]

    monkeypatch.setattr(real_time, "_measure_copy", measure)
    peers: Any = [FakePeer(OURS), FakePeer(SPARK)]
    results = list(real_time.measure_real_time((20, 2000), 1, 1, peers, cast(Any, FakeCluster()), tmp_path, 2))
    modes = ("real-time mode", "micro-batches")
    assert measured == [(m, rate, peer) for m in modes for rate in (20, 2000) for peer in (OURS, SPARK) * 2]
    assert [r.comparison for r in results[::2]] == [
        f"{m}, p{percent} at {rate} records per second"
        for m in modes
        for rate in ("20", "2,000")
        for percent in (50, 99)
    ]
    assert results[0].values == [0.001, 0.003]  # the medians of the first peer's measurements
    assert results[3].values == [1.0, 1.0]
