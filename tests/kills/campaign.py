"""Many lives of a query, each of which ends at a point; then the readers are asked."""

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
from tests.kills.crash_points import POINTS, CrashTrigger, kill_process, stop_process
from tests.kills.simulated_query import ROWS, SimulatedQuery, sink_table

PARTITIONS = 3
_FENCED = 3  # the exit code of a driver that finds that it is
# forked off a process that has imported everything and made no client: a life begins in milliseconds
_FORK = multiprocessing.get_context("fork")
Log = Callable[[str], None]


def campaign(
    bootstrap: str,
    kills: int,
    seed: int = 1,
    naming: str = "INCREMENTING",
    log: Log = print,
    nodes: Sequence[Node] = (),
) -> dict[str, Any]:
    """Kill the driver, or stop it, so many times; what was seen.

    Args:
        nodes: brokers, one of which is killed and started again in every tenth life.

    In another life of ten the driver is stopped, and goes on when the one after it has been killed: it must find itself
    fenced, and write nothing.

    Must run in a process that has no Kafka client and no threads, as it forks.

    Raises:
        AssertionError: a life made no progress, or ended otherwise than it should.
    """
    chance, topic, prefix = random.Random(seed), f"kills-{seed}-{time.time_ns()}", f"kills-{time.time_ns()}"
    _in_child(_create_topic, bootstrap, topic)
    ours, theirs = _FORK.Pipe()
    along = _FORK.Process(target=_read_concurrently, args=(bootstrap, topic, theirs), daemon=True)
    along.start()
    died: Counter[str] = Counter()
    zombie: Any = None
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for life in range(kills):
            point = "anywhere" if chance.random() < 0.2 else POINTS[life % len(POINTS)]
            point = "outliving" if nodes and life % 10 == 5 else point
            before = _last_done(folder)
            stops = life % 10 == 7
            arguments = (bootstrap, topic, prefix, naming, folder, f"{seed}-{life}", point, chance.random(), stops)
            child = _FORK.Process(target=_run_driver, args=arguments)
            child.start()
            if stops:
                _wait_until_stopped(child)
                assert _last_done(folder) > before, f"life {life}, '{point}': no progress"
                zombie = child
                died["stopped"] += 1
                log(f"{life + 1:4} stopped {point:9} batches done: {_last_done(folder) + 1}")
                continue
            if nodes and life % 10 == 5:
                _kill_broker(chance.choice(nodes), folder, child)
                died["broker"] += 1
            child.join(300)
            assert child.exitcode == -signal.SIGKILL, f"life {life}, '{point}': ended with {child.exitcode}"
            after = _last_done(folder)
            assert after > before, f"life {life}, '{point}': no progress"
            died[point] += 1
            log(f"{life + 1:4} killed {point:10} batches done: {after + 1}")
            zombie = _resume_zombie(zombie)
        child = _FORK.Process(
            target=_run_driver,
            args=(bootstrap, topic, prefix, naming, folder, f"{seed}-last", "", chance.random(), False),
        )
        child.start()
        child.join(300)
        assert child.exitcode == 0, f"the last life ended with {child.exitcode}"
        _resume_zombie(zombie)
        produced = (_last_done(folder) + 1) * ROWS
    seconds = time.monotonic() - began
    ours.send(produced)
    seen = ours.recv()
    along.join()
    final = _in_child(_read_all, bootstrap, topic, produced)
    return {
        "kills": dict(died),
        "seconds": round(seconds, 1),
        "concurrent": seen.verdict(produced),
        "final": final.verdict(produced),
    }


def _kill_broker(node: Node, folder: Path, child: Any) -> None:
    """Kill a broker while the driver writes, start it again, and kill the driver when it has gone on."""
    _wait_for_progress(folder, child)
    node.kill()
    node.restart()
    _wait_for_progress(folder, child)
    os.kill(child.pid, signal.SIGKILL)


def _wait_for_progress(folder: Path, child: Any) -> None:
    before, deadline = _last_done(folder), time.monotonic() + 120
    while _last_done(folder) <= before:
        assert child.is_alive(), f"the driver ended with {child.exitcode}"
        assert time.monotonic() < deadline, "no progress in 120 s"
        child.join(0.05)


def _wait_until_stopped(child: Any) -> None:
    process, deadline = psutil.Process(child.pid), time.monotonic() + 300
    while process.status() != psutil.STATUS_STOPPED:
        assert child.is_alive(), f"the driver ended with {child.exitcode}"
        assert time.monotonic() < deadline, "not stopped in 300 s"
        child.join(0.05)


def _resume_zombie(zombie: Any) -> None:
    """Let a stopped driver go on, if there is one: others have taken its place."""
    if zombie is not None:
        os.kill(zombie.pid, signal.SIGCONT)
        zombie.join(300)
        assert zombie.exitcode == _FENCED, f"a driver that was fenced ended with {zombie.exitcode}"


def _run_driver(
    bootstrap: str, topic: str, prefix: str, naming: str, folder: Path, run: str, point: str, luck: float, stops: bool
) -> None:
    """One life: two batches at least, then the point; without a point, three batches and the end."""
    try:
        _batches(SimulatedQuery(sink_table(bootstrap, topic, prefix, naming), folder, run, prefix), point, luck, stops)
    except WriterFencedError:
        os._exit(_FENCED)


def _batches(engine: SimulatedQuery, point: str, luck: float, stops: bool) -> None:
    chance = random.Random(luck)
    doom = CrashTrigger(point, stop_process if stops else kill_process)
    for _ in range(chance.randint(1, 3) if point else 3):
        engine.run_batch()
    doom.armed = True
    if point == "anywhere":
        signal.signal(signal.SIGALRM, lambda *_: doom.end())
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.001, 0.4))
    while point:
        if point == "claimed":
            engine.release_claim()
        engine.run_batch(doom)


def _last_done(folder: Path) -> int:
    return max((int(p.name) for p in (folder / "done").iterdir()), default=-1) if (folder / "done").exists() else -1


def _in_child(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call it in a forked process."""
    ours, theirs = _FORK.Pipe()

    def call(pipe: Connection) -> None:
        pipe.send(function(*arguments))

    child = _FORK.Process(target=call, args=(theirs,))
    child.start()
    theirs.close()
    try:
        return ours.recv()
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
