"""Runs one broker and ends it when the process that wanted it is gone. A script; standard library only.

Why a process in between: a process that is SIGKILLed cannot clean up after itself, and the ways by which a
child learns of its parent's death are Linux's alone (and count the death of the parent's *thread*). But on
every Unix the kernel closes the pipes of a dead process. So this process holds the read end of a pipe from
its parent, stdin; the end of that file is the parent's end, however it came about. It stands in a session of
its own, so that Ctrl-C in the parent's terminal interrupts the parent's query and not the broker.

Usage: watchdog.py SCRATCH COMMAND...

SCRATCH is the cluster's folder, to remove when the parent has died, or '' where data is kept. The process id of
COMMAND is written to stdout, the output of COMMAND goes to stderr. The exit status is that of COMMAND, 128 + n where
signal n ended it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading


def main(scratch: str, *command: str) -> None:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2)
    with contextlib.suppress(OSError):  # the parent is gone already: the read below says so too
        os.write(1, b"%d\n" % child.pid)
    orphaned = threading.Event()

    def follow() -> None:
        status = child.wait()
        if orphaned.is_set() and scratch:
            shutil.rmtree(scratch, ignore_errors=True)  # the other nodes' watchdogs are at it too; the last one ends it
        os._exit(status if status >= 0 else 128 - status)  # the main thread may be blocked in read()

    signal.signal(signal.SIGTERM, lambda *_: child.kill())
    follower = threading.Thread(target=follow)
    follower.start()
    while os.read(0, 1024):
        pass
    orphaned.set()
    child.kill()  # what it acknowledged is in the page cache, which outlives it
    follower.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
