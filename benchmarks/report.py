"""Print results as tables, and store them as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.comparison import Result
from benchmarks.peers.environments import engine_versions
from benchmarks.peers.launch import OURS
from benchmarks.setups import SETUPS, describe_setup
from kafka_sql.embedded.jars import KAFKA_VERSION

_PRECISE = 20  # milliseconds, below which tables show tenths


def describe_machine() -> dict[str, Any]:
    """Return the machine's properties and the versions of the software that is measured."""
    names = ("pyspark", "confluent-kafka", "pyarrow", "numba")
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "kafka": KAFKA_VERSION,
        "flink": "2.2.0, connector 5.0.0-2.2",
        "spark connector": "spark-sql-kafka-0-10 4.2.0, kafka-clients 3.9.1",
        **engine_versions(),
        **{name: version(name) for name in names},
    }


def format_line(result: Result) -> str:
    """Return a result as a line of text."""
    spread = f"({min(result.values):.3g} to {max(result.values):.3g}, {len(result.values)})"
    rate = f"{result.records / result.median / 1000:8,.0f} k/s" if result.records else ""
    memory = " ".join(f"{process} {size} MiB" for process, size in result.memory.items())
    comparison = f"{result.group}: {result.comparison}"
    median = f"{result.median:8.3f} {result.unit}"
    return f"{comparison:<60} {result.peer:<24} {median} {spread:<26} {rate} {memory}".rstrip()


def ratio(ours: Result, peer: Result) -> float:
    """Return our throughput divided by the peer's or, for latencies and start-up, our time divided by the peer's."""
    return peer.median / ours.median if ours.records else ours.median / peer.median


def format_table(results: Sequence[Result]) -> str:
    """Return a Markdown table per group: its setup, a row per comparison, a column per peer, and the ratios."""
    lines = []
    for group, group_results in groupby(results, key=lambda r: r.group):
        rows = [
            (comparison, list(peer_results))
            for comparison, peer_results in groupby(group_results, key=lambda r: r.comparison)
        ]
        names = dict.fromkeys(r.peer for _, peer_results in rows for r in peer_results)
        peers = sorted(names, key=lambda name: name != OURS)  # kafka_sql first
        header = [f"{p}" for p in peers] + [f"against {p}" for p in peers if p != OURS]
        if setup := describe_setup(group, peers):
            lines += ["", setup]
        lines += ["", f"| {group} | " + " | ".join(header) + " |", "|---" * (len(header) + 1) + "|"]
        for comparison, peer_results in rows:
            by_peer = {r.peer: r for r in peer_results}
            cells = [format_value(by_peer[p]) if p in by_peer else "" for p in peers]
            cells += [
                f"{ratio(by_peer[OURS], by_peer[p]):.2f}" if p in by_peer and OURS in by_peer else ""
                for p in peers
                if p != OURS
            ]
            lines.append(f"| {comparison} | " + " | ".join(cells) + " |")
    return "\n".join(lines[1:]) + "\n"


def format_value(result: Result) -> str:
    """Return the throughput, the median time in milliseconds, or the median in the unit of the values."""
    if result.unit != "s":
        return f"{result.median:.2f} {result.unit}"
    if result.records:
        return f"{result.records / result.median / 1000:,.0f} k/s"
    milliseconds = result.median * 1000
    return f"{milliseconds:.1f} ms" if milliseconds < _PRECISE else f"{milliseconds:,.0f} ms"


def save(result: Result, path: Path) -> list[Result]:
    """Store a result in a JSON file, in place of an earlier one of the same comparison. Return all stored results."""
    results = load(path)[1] if path.exists() else []
    keys = [(r.group, r.comparison, r.peer) for r in results]
    if (key := (result.group, result.comparison, result.peer)) in keys:
        results[keys.index(key)] = result
    else:
        results.append(result)
        groups = [*dict.fromkeys([*SETUPS, *(r.group for r in results)])]
        results.sort(key=lambda r: groups.index(r.group))
    rows = [asdict(r) | {"median": r.median} for r in results]
    path.write_text(json.dumps({"machine": describe_machine(), "results": rows}, indent=1) + "\n")
    return results


def load(path: Path) -> tuple[dict[str, Any], list[Result]]:
    """Return the machine of the last run, and all results in a file."""
    stored = json.loads(path.read_text())
    fields = Result.__dataclass_fields__
    results = [Result(**{name: row[name] for name in fields if name in row}) for row in stored["results"]]
    return stored["machine"], results
