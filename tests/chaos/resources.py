"""What a program and its children use: memory, threads, sockets and open files over time, and whether that grows."""

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
    """A moment.

    Attributes:
        seconds: since the watch began.
        java, python: megabytes of memory that no other process shares, of the processes of each kind.
        sockets: but those that listen in a JVM.
        files: open ones, sockets not among them.
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


# by how much the last third of a run may be above the first after the warm-up: a share, and so many
ALLOWANCES: Final = {
    "processes": (0.1, 2.0),
    "java": (0.1, 64.0),
    "python": (0.1, 32.0),
    "threads": (0.1, 8.0),
    "sockets": (0.1, 8.0),
    "files": (0.1, 16.0),
}


# PySpark 4.3 leaves a server's socket and its selector in the JVM at each start of a stream whose source is in Python,
# whosever source it is: neither counts
_SELECTOR_FILES: Final = 2


def sample(root: int, seconds: float = 0.0) -> Sample:
    """What a process and all below it use now; one that ends meanwhile is left out."""
    found = dict.fromkeys((f.name for f in fields(Sample)), 0.0)
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
            left = sum(c.status == psutil.CONN_LISTEN for c in connections) if "java" in name else 0
            one = {
                "threads": process.num_threads(),
                "sockets": len(connections) - left,
                "files": files - left * _SELECTOR_FILES,
            }
        except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError):
            continue
        found["processes"] += 1
        found["java" if "java" in name else "python"] += memory
        for key, value in one.items():
            found[key] += value
    counts = {key: int(value) for key, value in found.items() if key not in ("seconds", "java", "python")}
    return Sample(seconds=seconds, java=found["java"], python=found["python"], **counts)


class Watch:
    """Samples of a process tree, taken by a thread of its own."""

    def __init__(self, root: int, pause: float) -> None:
        self.samples: list[Sample] = []
        self._root, self._pause, self._begun = root, pause, time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> list[Sample]:
        """End it."""
        self._over.set()
        self._thread.join()
        return self.samples

    def _run(self) -> None:
        while True:
            self.samples.append(sample(self._root, time.monotonic() - self._begun))
            if self._over.wait(self._pause):
                return


@contextmanager
def watched(root: int, pause: float = 0.2) -> Iterator[Watch]:
    """A watch for the time of a ``with`` block."""
    watch = Watch(root, pause)
    try:
        yield watch
    finally:
        watch.stop()


def peak(samples: Sequence[Sample]) -> Sample:
    """The greatest of each figure."""
    return Sample(**{f.name: max(getattr(s, f.name) for s in samples) for f in fields(Sample)})


def growth(samples: Sequence[Sample], warm_up: float) -> dict[str, tuple[float, float]]:
    """The medians of the first and of the last third of what comes after the warm-up, by figure.

    Args:
        warm_up: seconds that do not count.
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
    """What is not flat, in words."""
    told = []
    for key, (first, last) in growth(samples, warm_up).items():
        share, number = ALLOWANCES[key]
        if last > first + max(first * share, number):
            told.append(f"{key} grew from {first:.0f} to {last:.0f}")
    return told


def curve(samples: Sequence[Sample], points: int = 30) -> str:
    """So many of the samples, a line each."""
    step = max(1, len(samples) // points)
    return "\n".join(str(s) for s in [*samples[::step], *samples[-1:]])


def as_rows(samples: Sequence[Sample]) -> list[dict[str, float]]:
    """For a file of JSON lines."""
    return [asdict(s) for s in samples]
