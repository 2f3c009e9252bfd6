"""Run a function in several processes that start at the same time, and measure the time until the last one ends."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

_START: Final = 120.0  # seconds, in which the processes must have imported their modules
_END: Final = 900.0

Work = Callable[..., Any]


def run_workers(work: Work, arguments: Mapping[str, Any], count: int) -> tuple[float, list[Any]]:
    """Run ``work(worker=i, done=..., **arguments)`` in ``count`` new processes.

    Args:
        work: a function of a module. ``done`` is an array with a number per worker, which all of them can read.
        arguments: other arguments.
        count: number of processes.

    Returns:
        The seconds from their common start until the last one has returned, and what they returned.

    Raises:
        RuntimeError: a process failed.
    """
    context = multiprocessing.get_context("spawn")
    barrier, outputs = context.Barrier(count + 1), context.Queue()
    done = context.Array("q", count, lock=False)
    processes = [
        context.Process(target=_run, args=(work, {"worker": i, "done": done, **arguments}, barrier, outputs))
        for i in range(count)
    ]
    for process in processes:
        process.start()
    try:
        barrier.wait(_START)  # the processes have imported their modules
        started = time.perf_counter()
        results = [outputs.get(timeout=_END) for _ in processes]
        seconds = time.perf_counter() - started
        for process in processes:
            process.join(30)
    finally:
        for process in processes:
            process.kill()
            process.join()
    for _, error in results:
        if error is not None:
            raise RuntimeError(error)
    return seconds, [output for output, _ in results]


def _run(work: Work, arguments: Mapping[str, Any], barrier: Any, outputs: Any) -> None:
    barrier.wait(_START)
    try:
        outputs.put((work(**arguments), None))
    except BaseException as e:  # noqa: BLE001  # reported to the parent, whatever it is
        traceback.print_exc()
        outputs.put((None, f"{type(e).__name__}: {e}"))
