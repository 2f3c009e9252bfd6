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
    rng, topic, prefix = random.Random(seed), f"kills-{seed}-{time.time_ns()}", f"kills-{time.time_ns()}"
    _in_child(_create_topic, bootstrap, topic)
    pipe, child_pipe = _FORK.Pipe()
    reader = _FORK.Process(target=_read_concurrently, args=(bootstrap, topic, child_pipe), daemon=True)
    reader.start()
    killed: Counter[str] = Counter()
    zombie: Any = None
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(kills):
            point = "anywhere" if rng.random() < 0.2 else POINTS[number % len(POINTS)]
            kills_broker = bool(nodes) and number % 10 == 5
            point = "never" if kills_broker else point  # _kill_broker kills this driver
            before = _last_done(folder)
            is_suspended = number % 10 == 7
            run = f"{seed}-{number}"
            arguments = (bootstrap, topic, prefix, naming, folder, run, point, rng.random(), is_suspended)
            child = _FORK.Process(target=_run_driver, args=arguments)
            child.start()
            if is_suspended:
                _wait_until_suspended(child)
                assert _last_done(folder) > before, f"driver {number}, '{point}': no progress"
                zombie = child
                killed["suspended"] += 1
                log(f"{number + 1:4} suspended {point:9} batches done: {_last_done(folder) + 1}")
                continue
            if kills_broker:
                _kill_broker(rng.choice(nodes), folder, child)
                killed["broker"] += 1
            child.join(300)
            assert child.exitcode == -signal.SIGKILL, f"driver {number}, '{point}': exited with {child.exitcode}"
            after = _last_done(folder)
            assert after > before, f"driver {number}, '{point}': no progress"
            killed[point] += 1
            log(f"{number + 1:4} killed {point:10} batches done: {after + 1}")
            _resume_zombie(zombie)
            zombie = None
        child = _FORK.Process(
            target=_run_driver,
            args=(bootstrap, topic, prefix, naming, folder, f"{seed}-last", "", rng.random(), False),
        )
        child.start()
        child.join(300)
        assert child.exitcode == 0, f"the last driver exited with {child.exitcode}"
        _resume_zombie(zombie)
        produced = (_last_done(folder) + 1) * ROWS
    seconds = time.monotonic() - started
    pipe.send(produced)
    concurrent = pipe.recv()
    reader.join()
    final = _in_child(_read_all, bootstrap, topic, produced)
    return {
        "kills": dict(killed),
        "seconds": round(seconds, 1),
        "concurrent": concurrent.verdict(produced),
        "final": final.verdict(produced),
    }


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


def _resume_zombie(zombie: Any) -> None:
    """Resume a suspended driver, if there is one. It must detect that it is fenced."""
    if zombie is not None:
        os.kill(zombie.pid, signal.SIGCONT)
        zombie.join(300)
        assert zombie.exitcode == _FENCED, f"a fenced driver exited with {zombie.exitcode}"


def _run_driver(
    bootstrap: str,
    topic: str,
    prefix: str,
    naming: str,
    folder: Path,
    run: str,
    point: str,
    seed: float,
    is_suspended: bool,
) -> None:
    """Run a driver: one to three batches, then crash in the next one; without a crash point, three batches."""
    try:
        _run_batches(
            SimulatedQuery(sink_table(bootstrap, topic, prefix, naming), folder, run, prefix), point, seed, is_suspended
        )
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
