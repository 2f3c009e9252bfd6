"""Run a command and kill it when the parent process exits. A script that only uses the standard library.

A process that is killed by SIGKILL cannot clean up, and only Linux notifies a child of its parent's death (and it
reports the death of the parent's *thread*). But every Unix closes the pipes of a dead process. This script therefore
reads stdin, a pipe from its parent: end of file means that the parent has exited, for any reason. It runs in a
separate session, so that Ctrl-C in the parent's terminal interrupts the parent's query, but not the broker.

Usage: watchdog.py SCRATCH COMMAND...

SCRATCH is the cluster's folder, which is removed when the parent has exited, or '' to keep the data. The process id of
COMMAND is written to stdout; the output of COMMAND goes to stderr. The exit status is that of COMMAND, or 128 + n if
it was killed by signal n.
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
    """Run the command until it exits or the parent exits."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2)
    with contextlib.suppress(OSError):  # the parent has already exited; the read below detects it, too
        os.write(1, b"%d\n" % child.pid)
    orphaned = threading.Event()

    def wait_for_child() -> None:
        status = child.wait()
        if orphaned.is_set() and scratch:
            # concurrently with the other nodes' watchdogs; the last one completes it
            shutil.rmtree(scratch, ignore_errors=True)
        os._exit(status if status >= 0 else 128 - status)  # the main thread may be blocked in read()

    signal.signal(signal.SIGTERM, lambda *_: child.kill())
    waiter = threading.Thread(target=wait_for_child)
    waiter.start()
    while os.read(0, 1024):
        pass
    orphaned.set()
    child.kill()  # acknowledged records are in the page cache, which survives the process
    waiter.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
