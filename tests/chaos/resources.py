"""Sample the resources of a process and its children (memory, threads, sockets, files), and detect growth."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Final

import psutil


@dataclass(frozen=True)
class Sample:
    """Resource use at one point in time.

    Attributes:
        seconds: seconds since the first sample.
        processes: number of processes.
        java, python: memory in megabytes that is not shared with other processes (USS), of JVMs and of Python.
        threads: number of threads.
        sockets: number of sockets, except listening sockets of JVMs.
        files: number of open files, except sockets.
    """

    seconds: float = 0.0
    processes: int = 0
    java: float = 0.0
    python: float = 0.0
    threads: int = 0
    sockets: int = 0
    files: int = 0

    def __str__(self) -> str:
        return (
            f"{self.seconds:7.0f} s  processes {self.processes:3}  java {self.java:6.0f} MB"
            f"  python {self.python:6.0f} MB"
            f"  threads {self.threads:4}  sockets {self.sockets:4}  files {self.files:4}"
        )


# allowed growth from the first to the last third of a run after warm-up: the larger of a fraction and a number
ALLOWANCES: Final = {
    "processes": (0.1, 2.0),
    "java": (0.1, 64.0),
    "python": (0.1, 32.0),
    "threads": (0.1, 8.0),
    "sockets": (0.1, 8.0),
    "files": (0.1, 16.0),
}


# PySpark 4.3 leaks a server socket and its selector in the JVM whenever a stream with a Python data source starts,
# regardless of the data source. Neither is counted.
_SELECTOR_FILES: Final = 2


def sample(root: int, seconds: float = 0.0) -> Sample:
    """Return the current resource use of a process and its descendants. Processes that exit meanwhile are ignored."""
    totals = dict.fromkeys((f.name for f in fields(Sample)), 0.0)
    try:
        top = psutil.Process(root)
        processes = [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        processes = []
    for process in processes:
        try:
            name, memory = process.name(), process.memory_full_info().uss / 1e6
            connections = process.net_connections(kind="all")
            files = process.num_fds() - len(connections)
            leaked = sum(c.status == psutil.CONN_LISTEN for c in connections) if "java" in name else 0
            counts = {
                "threads": process.num_threads(),
                "sockets": len(connections) - leaked,
                "files": files - leaked * _SELECTOR_FILES,
            }
        except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError):
            continue
        totals["processes"] += 1
        totals["java" if "java" in name else "python"] += memory
        for key, value in counts.items():
            totals[key] += value
    integers = {key: int(value) for key, value in totals.items() if key not in ("seconds", "java", "python")}
    return Sample(seconds=seconds, java=totals["java"], python=totals["python"], **integers)


class Watch:
    """Samples a process tree periodically in a separate thread."""

    def __init__(self, root: int, pause: float) -> None:
        self.samples: list[Sample] = []
        self._root, self._pause, self._started = root, pause, time.monotonic()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> list[Sample]:
        """Stop sampling and return the samples."""
        self._stopped.set()
        self._thread.join()
        return self.samples

    def _run(self) -> None:
        while True:
            self.samples.append(sample(self._root, time.monotonic() - self._started))
            if self._stopped.wait(self._pause):
                return


@contextmanager
def watched(root: int, pause: float = 0.2) -> Iterator[Watch]:
    """Sample a process tree during a ``with`` block."""
    watch = Watch(root, pause)
    try:
        yield watch
    finally:
        watch.stop()


def peak(samples: Sequence[Sample]) -> Sample:
    """Return the maximum of each value."""
    return Sample(**{f.name: max(getattr(s, f.name) for s in samples) for f in fields(Sample)})


def growth(samples: Sequence[Sample], warm_up: float) -> dict[str, tuple[float, float]]:
    """Return the medians of the first and the last third of the samples after warm-up, for each value.

    Args:
        samples: the samples.
        warm_up: seconds at the start that are ignored.
    """
    rest = [s for s in samples if s.seconds >= warm_up]
    third = max(1, len(rest) // 3)
    return {
        key: (
            statistics.median(getattr(s, key) for s in rest[:third]),
            statistics.median(getattr(s, key) for s in rest[-third:]),
        )
        for key in ALLOWANCES
    }


def growth_messages(samples: Sequence[Sample], warm_up: float) -> list[str]:
    """Return a message for each value that has grown."""
    messages = []
    for key, (first, last) in growth(samples, warm_up).items():
        fraction, absolute = ALLOWANCES[key]
        if last > first + max(first * fraction, absolute):
            messages.append(f"{key} grew from {first:.0f} to {last:.0f}")
    return messages


def curve(samples: Sequence[Sample], points: int = 30) -> str:
    """Return a number of evenly spaced samples, one per line."""
    step = max(1, len(samples) // points)
    return "\n".join(str(s) for s in [*samples[::step], *samples[-1:]])


def as_rows(samples: Sequence[Sample]) -> list[dict[str, float]]:
    """Return the samples as rows of a JSON Lines file."""
    return [asdict(s) for s in samples]
