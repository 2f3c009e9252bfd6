"""Hold what Java prints while Spark starts, which matters only if it does not start."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.errors import PySparkRuntimeError

_STDERR: Final = 2  # the file descriptor that Java inherits
_CHUNK_BYTES: Final = 65536


@contextmanager
def hold_startup_output() -> Iterator[None]:
    """Discard what processes that are started in a ``with`` block print to standard error, until the block's end.

    Their later output is printed. If Java exits in the block, what it printed is the cause, and is printed.
    """
    reader, writer = os.pipe()
    stderr = os.dup(_STDERR)
    os.dup2(writer, _STDERR)
    end = secrets.token_bytes()  # written to the pipe at the end of the block
    is_cause = False
    has_passed_end = threading.Event()

    def forward() -> None:
        output = b""
        while end not in output:
            output += os.read(reader, _CHUNK_BYTES)
        before, _, after = output.partition(end)
        os.write(stderr, before + after if is_cause else after)
        has_passed_end.set()
        while output := os.read(reader, _CHUNK_BYTES):
            os.write(stderr, output)

    threading.Thread(target=forward, daemon=True).start()
    try:
        yield
    except PySparkRuntimeError as e:
        is_cause = e.getCondition() == "JAVA_GATEWAY_EXITED"
        raise
    finally:
        os.dup2(stderr, _STDERR)
        os.write(writer, end)
        os.close(writer)
        has_passed_end.wait()
