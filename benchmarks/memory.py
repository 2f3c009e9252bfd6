"""How much memory a process and its children take at their peak, JVMs and Python workers apart."""

from __future__ import annotations

import threading

import psutil

_INTERVAL = 0.1  # seconds


class Memory:
    """Looks at a process and its children until it is closed."""

    def __init__(self, pid: int) -> None:
        """Begin."""
        self._root, self._ended = psutil.Process(pid), threading.Event()
        self._peaks: dict[str, int] = {}
        threading.Thread(target=self._watch, daemon=True).start()

    def reset(self) -> None:
        """Forget the peaks so far."""
        self._peaks = {}

    @property
    def peaks(self) -> dict[str, int]:
        """MiB by kind: the JVM, the driver's Python, the largest worker."""
        return {kind: size >> 20 for kind, size in sorted(self._peaks.items())}

    def close(self) -> None:
        """Look no more."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(_INTERVAL):
            try:
                processes = [self._root, *self._root.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            for process in processes:
                try:
                    size, program = process.memory_info().rss, process.name()
                except psutil.NoSuchProcess:
                    continue
                kind = "jvm" if program == "java" else "driver" if process == self._root else "worker"
                self._peaks[kind] = max(self._peaks.get(kind, 0), size)
