"""The results as a table for people and as JSON for programs."""

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

from benchmarks.contest import Result
from benchmarks.peers.launch import OURS
from kafka_sql.embedded.jar_lockfile import VERSION


def machine() -> dict[str, Any]:
    """What was measured, and on what."""
    names = ("pyspark", "confluent-kafka", "pyarrow", "numba")
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "kafka": VERSION,
        "flink": "2.2.0, connector 5.0.0-2.2",
        "spark's own source and sink": "spark-sql-kafka-0-10 4.2.0, kafka-clients 3.9.1",
        **{name: version(name) for name in names},
    }


def line(result: Result) -> str:
    """One result in words."""
    spread = f"({min(result.values):.3g} to {max(result.values):.3g}, {len(result.values)})"
    rate = f"{result.records / result.median / 1000:8,.0f} k/s" if result.records else ""
    memory = " ".join(f"{kind} {size} MiB" for kind, size in result.memory.items())
    contest = f"{result.group}: {result.contest}"
    median = f"{result.median:8.3f} {result.unit.split()[-1]}"
    return f"{contest:<46} {result.peer:<24} {median} {spread:<26} {rate} {memory}".rstrip()


def ratio(ours: Result, peer: Result) -> float:
    """How many times as fast, or for latencies and starts how many times as long, this project is."""
    return peer.median / ours.median if ours.records else ours.median / peer.median


def table(results: Sequence[Result]) -> str:
    """Markdown: a row a contest, a column a peer, and the ratios."""
    text = []
    for group, found in groupby(results, key=lambda r: r.group):
        rows = [(contest, list(of)) for contest, of in groupby(found, key=lambda r: r.contest)]
        peers = list(dict.fromkeys(r.peer for _, of in rows for r in of))
        heads = [f"{p}" for p in peers] + [f"against {p}" for p in peers if p != OURS]
        text += ["", f"| {group} | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
        for contest, of in rows:
            by_peer = {r.peer: r for r in of}
            cells = [shown(by_peer[p]) if p in by_peer else "" for p in peers]
            cells += [
                f"{ratio(by_peer[OURS], by_peer[p]):.2f}" if p in by_peer and OURS in by_peer else ""
                for p in peers
                if p != OURS
            ]
            text.append(f"| {contest} | " + " | ".join(cells) + " |")
    return "\n".join(text[1:]) + "\n"


def shown(result: Result) -> str:
    """Throughput, or the median time in milliseconds, or what unit the values have."""
    if result.unit not in ("s", "latency s"):
        return f"{result.median:.2f} {result.unit}"
    if result.records:
        return f"{result.records / result.median / 1000:,.0f} k/s"
    return f"{result.median * 1000:,.0f} ms"


def save(result: Result, path: Path) -> list[Result]:
    """Put a result in the place of the one of its kind in a file of JSON; all that the file holds then."""
    everything = load(path)[1] if path.exists() else []
    kinds = [(r.group, r.contest, r.peer) for r in everything]
    if (kind := (result.group, result.contest, result.peer)) in kinds:
        everything[kinds.index(kind)] = result
    else:
        everything.append(result)
        groups = [*dict.fromkeys(r.group for r in everything)]
        everything.sort(key=lambda r: groups.index(r.group))
    found = [{**asdict(r), "median": r.median} for r in everything]
    path.write_text(json.dumps({"machine": machine(), "results": found}, indent=1) + "\n")
    return everything


def load(path: Path) -> tuple[dict[str, Any], list[Result]]:
    """The machine of a file's last run, and the file's results."""
    kept = json.loads(path.read_text())
    names = Result.__dataclass_fields__
    return kept["machine"], [Result(**{k: v for k, v in r.items() if k in names}) for r in kept["results"]]
