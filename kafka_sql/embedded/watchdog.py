"""Run a command and kill it when the parent process exits. This script only uses the standard library.

A process that is killed by SIGKILL cannot stop its children, and only Linux can signal a child when its parent exits
(PR_SET_PDEATHSIG, which reacts to the exit of the parent's *thread*). But every Unix closes the pipes of a process that
exits. This script therefore reads stdin, a pipe from its parent: end of file means that the parent has exited, for any
reason. The parent starts it in a separate session, so that Ctrl-C in the terminal interrupts the parent's query, but
not the broker.

Usage: watchdog.py SCRATCH COMMAND...

SCRATCH is a temporary folder, which is removed if the parent exits first; '' removes nothing. The process id of COMMAND
is written to stdout, and the output of COMMAND to stderr. SIGTERM kills COMMAND. The exit status is that of COMMAND, or
128 + n if signal n killed it.
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
    """Run the command until it exits, and kill it if the parent exits first."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2)
    with contextlib.suppress(OSError):  # the parent has already exited; the read below detects it, too
        os.write(1, b"%d\n" % child.pid)
    parent_exited = threading.Event()

    def wait_for_child() -> None:
        status = child.wait()
        if parent_exited.is_set() and scratch:
            # all nodes' watchdogs do this concurrently; one ignores the files that another has already removed
            shutil.rmtree(scratch, ignore_errors=True)
        os._exit(status if status >= 0 else 128 - status)  # the main thread may be blocked in read()

    signal.signal(signal.SIGTERM, lambda *_: child.kill())
    wait_thread = threading.Thread(target=wait_for_child)
    wait_thread.start()
    while os.read(0, 1024):
        pass
    parent_exited.set()
    child.kill()  # acknowledged records are in the page cache, which survives the process
    wait_thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
