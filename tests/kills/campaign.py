"""Kill the driver of a query again and again at crash points, then evaluate what readers saw."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from kafka_sql.embedded import Node
from kafka_sql.errors import WriterFencedError
from tests.kills import oracle
from tests.kills.crash_points import POINTS, CrashTrigger, kill_process, suspend_process
from tests.kills.simulated_query import ROWS, SimulatedQuery, sink_table

PARTITIONS = 3
_FENCED = 3  # exit code of a driver that was fenced
# forked from a process that has imported everything and has no clients, so drivers start within milliseconds
_FORK = multiprocessing.get_context("fork")
Log = Callable[[str], None]


def run_campaign(
    bootstrap: str,
    kills: int,
    seed: int = 1,
    naming: str = "INCREMENTING",
    log: Log = print,
    nodes: Sequence[Node] = (),
) -> dict[str, Any]:
    """Kill or suspend a number of drivers, and return what readers saw.

    Every tenth driver is only suspended, and resumed after the next one has been killed: it must detect that it is
    fenced, and write nothing. Must run in a process without Kafka clients and threads, because it forks.

    Args:
        bootstrap: bootstrap servers.
        kills: number of drivers.
        seed: seed of random choices.
        naming: 'sink.transaction-naming-strategy'.
        log: prints a line of progress.
        nodes: brokers, one of which is killed and restarted with every tenth driver.

    Raises:
        AssertionError: a driver made no progress, or exited unexpectedly.
    """
    topic, prefix = f"kills-{seed}-{time.time_ns()}", f"kills-{time.time_ns()}"
    _in_child(_create_topic, bootstrap, topic)
    pipe, child_pipe = _FORK.Pipe()
    reader = _FORK.Process(target=_read_concurrently, args=(bootstrap, topic, child_pipe), daemon=True)
    reader.start()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        drivers = _Drivers((bootstrap, topic, prefix, naming), Path(folder), seed, log, nodes)
        for number in range(kills):
            drivers.crash(number)
        drivers.finish()
        produced = (_last_done(Path(folder)) + 1) * ROWS
    seconds = time.monotonic() - started
    pipe.send(produced)
    concurrent = pipe.recv()
    reader.join()
    final = _in_child(_read_all, bootstrap, topic, produced)
    return {
        "kills": dict(drivers.crashes),
        "seconds": round(seconds, 1),
        "concurrent": concurrent.verdict(produced),
        "final": final.verdict(produced),
    }


class _Drivers:
    """The drivers of one query, each of which resumes where the one before crashed.

    Attributes:
        crashes: number of drivers that crashed, by crash point.
    """

    def __init__(
        self, sink: tuple[str, str, str, str], folder: Path, seed: int, log: Log, nodes: Sequence[Node]
    ) -> None:
        """Start no driver yet.

        Args:
            sink: arguments of ``sink_table``.
            folder: the checkpoint of the query.
            seed: seed of random choices.
            log: prints a line of progress.
            nodes: brokers that may be killed.
        """
        self._sink, self._folder, self._seed, self._log, self._nodes = sink, folder, seed, log, nodes
        self._rng = random.Random(seed)
        self._suspended: Any = None
        self.crashes: Counter[str] = Counter()

    def crash(self, number: int) -> None:
        """Start a driver and wait until it was killed or suspended.

        Raises:
            AssertionError: it made no progress, or exited unexpectedly.
        """
        point = "anywhere" if self._rng.random() < 0.2 else POINTS[number % len(POINTS)]
        kills_broker = bool(self._nodes) and number % 10 == 5
        point = "never" if kills_broker else point  # _kill_broker kills this driver
        is_suspended = number % 10 == 7
        before = _last_done(self._folder)
        child = self._start(str(number), point, is_suspended)
        if is_suspended:
            _wait_until_suspended(child)
            self._suspended = child
        else:
            if kills_broker:
                _kill_broker(self._rng.choice(self._nodes), self._folder, child)
                self.crashes["broker"] += 1
            child.join(300)
            assert child.exitcode == -signal.SIGKILL, f"driver {number}, '{point}': exited with {child.exitcode}"
        after = _last_done(self._folder)
        assert after > before, f"driver {number}, '{point}': no progress"
        self.crashes["suspended" if is_suspended else point] += 1
        self._log(f"{number + 1:4} {'suspended' if is_suspended else 'killed':9} {point:9} batches done: {after + 1}")
        if not is_suspended:
            self._resume_suspended()

    def finish(self) -> None:
        """Run a last driver, which does not crash.

        Raises:
            AssertionError: it exited unexpectedly.
        """
        child = self._start("last", "", is_suspended=False)
        child.join(300)
        assert child.exitcode == 0, f"the last driver exited with {child.exitcode}"
        self._resume_suspended()

    def _start(self, name: str, point: str, is_suspended: bool) -> Any:
        arguments = (self._sink, self._folder, f"{self._seed}-{name}", point, self._rng.random(), is_suspended)
        child = _FORK.Process(target=_run_driver, args=arguments)
        child.start()
        return child

    def _resume_suspended(self) -> None:
        """Resume the suspended driver, if there is one. It must detect that it is fenced."""
        child, self._suspended = self._suspended, None
        if child is not None:
            os.kill(child.pid, signal.SIGCONT)
            child.join(300)
            assert child.exitcode == _FENCED, f"a fenced driver exited with {child.exitcode}"


def _kill_broker(node: Node, folder: Path, child: Any) -> None:
    """Kill and restart a broker while the driver writes, and kill the driver after it has continued."""
    _wait_for_progress(folder, child)
    node.kill()
    node.restart()
    _wait_for_progress(folder, child)
    os.kill(child.pid, signal.SIGKILL)


def _wait_for_progress(folder: Path, child: Any) -> None:
    before, deadline = _last_done(folder), time.monotonic() + 120
    while _last_done(folder) <= before:
        assert child.is_alive(), f"the driver exited with {child.exitcode}"
        assert time.monotonic() < deadline, "no progress in 120 s"
        child.join(0.05)


def _wait_until_suspended(child: Any) -> None:
    process, deadline = psutil.Process(child.pid), time.monotonic() + 300
    while process.status() != psutil.STATUS_STOPPED:
        assert child.is_alive(), f"the driver exited with {child.exitcode}"
        assert time.monotonic() < deadline, "not suspended in 300 s"
        child.join(0.05)


def _run_driver(
    sink: tuple[str, str, str, str], folder: Path, run: str, point: str, seed: float, is_suspended: bool
) -> None:
    """Run a driver: one to three batches, then crash in the next one; without a crash point, three batches."""
    _, _, prefix, _ = sink
    try:
        _run_batches(SimulatedQuery(sink_table(*sink), folder, run, prefix), point, seed, is_suspended)
    except WriterFencedError:
        os._exit(_FENCED)


def _run_batches(query: SimulatedQuery, point: str, seed: float, is_suspended: bool) -> None:
    rng = random.Random(seed)
    trigger = CrashTrigger(point, suspend_process if is_suspended else kill_process)
    for _ in range(rng.randint(1, 3) if point else 3):
        query.run_batch()
    trigger.armed = True
    if point == "anywhere":
        signal.signal(signal.SIGALRM, lambda *_: trigger.crash())
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.001, 0.4))
    while point:
        if point == "claimed":
            query.release_claim()
        query.run_batch(trigger)


def _last_done(folder: Path) -> int:
    return max((int(p.name) for p in (folder / "done").iterdir()), default=-1) if (folder / "done").exists() else -1


def _in_child(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a forked process, and return its result."""
    pipe, child_pipe = _FORK.Pipe()

    def call(pipe: Connection) -> None:
        pipe.send(function(*arguments))

    child = _FORK.Process(target=call, args=(child_pipe,))
    child.start()
    child_pipe.close()
    try:
        return pipe.recv()
    finally:
        child.join()


def _create_topic(bootstrap: str, topic: str) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, -1)])[topic].result(30)


def _read_concurrently(bootstrap: str, topic: str, pipe: Connection) -> None:
    pipe.send(oracle.read_committed(bootstrap, topic, PARTITIONS, None, 60, pipe))


def _read_all(bootstrap: str, topic: str, produced: int) -> oracle.ObservedRows:
    return oracle.read_committed(bootstrap, topic, PARTITIONS, produced, 60, None)
