"""Measure the peak memory of a process and its children, separately for JVMs and Python workers."""

from __future__ import annotations

import threading

import psutil

_INTERVAL = 0.1  # seconds


class MemoryWatch:
    """Samples the memory of a process and its children until it is closed."""

    def __init__(self, pid: int) -> None:
        """Start sampling."""
        self._root, self._closed = psutil.Process(pid), threading.Event()
        self._peaks: dict[str, int] = {}
        threading.Thread(target=self._watch, daemon=True).start()

    def reset(self) -> None:
        """Reset the peaks."""
        self._peaks = {}

    @property
    def peaks(self) -> dict[str, int]:
        """Peak memory in MiB of the JVM, the driver's Python process and the largest worker."""
        return {process_type: size >> 20 for process_type, size in sorted(self._peaks.items())}

    def close(self) -> None:
        """Stop sampling."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(_INTERVAL):
            try:
                processes = [self._root, *self._root.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            for process in processes:
                try:
                    size, program = process.memory_info().rss, process.name()
                except psutil.NoSuchProcess:
                    continue
                process_type = "jvm" if program == "java" else "driver" if process == self._root else "worker"
                self._peaks[process_type] = max(self._peaks.get(process_type, 0), size)
