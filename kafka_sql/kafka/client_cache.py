"""Keep idle clients for a worker's next task, with their connections, metadata and producer ids."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from kafka_sql.kafka.config.properties import credentials_fingerprint

_IDLE_SECONDS: Final = 30.0  # NATs and load balancers drop connections that are idle for longer


class CachedClient:
    """The base class of clients that a cache keeps."""

    def is_reusable(self) -> bool:
        """Return whether it can serve another use, after one without an error. It is idle from then on."""
        return True

    def on_reuse(self) -> None:
        """Discard state of the previous use and of the idle time, such as errors."""


C = TypeVar("C", bound=CachedClient)
_PARENT_CLIENTS: Final[list[object]] = []  # of the process that this one was forked from; never closed here


@dataclass
class _Idle(Generic[C]):
    settings: tuple[object, ...] = field(repr=False)  # includes credentials
    client: C
    resources: ExitStack
    since: float = 0.0


class ClientCache(Generic[C]):
    """A cache of one idle client per process: the one that was used last."""

    def __init__(self, create: Callable[[Mapping[str, str], ExitStack], C]) -> None:
        """Create an empty cache.

        Args:
            create: creates a client from librdkafka's configuration, and registers its clean-up.
        """
        self._create = create
        self._idle: list[_Idle[C]] = []  # at most one
        self._lock = threading.Lock()
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._disown)

    @contextmanager
    def lease(self, config: Mapping[str, str]) -> Iterator[C]:
        """Lease a client for a ``with`` block.

        It is kept for the next block with the same settings and credentials, unless this block raises or is left early.

        Raises:
            BrokerError: librdkafka rejects the configuration.
            KafkaSqlError: as ``resolve_config``.
        """
        settings = (tuple(sorted(config.items())), credentials_fingerprint(config))
        entry = self._pop(settings) or self._open(settings, config)
        try:
            yield entry.client
            is_reusable = entry.client.is_reusable()
        except BaseException:
            entry.resources.close()
            raise
        if not is_reusable:
            entry.resources.close()
            return
        entry.since = time.monotonic()
        self._store(entry)

    def close(self) -> None:
        """Close the idle client."""
        while self._idle:
            self._idle.pop().resources.close()

    def _disown(self) -> None:
        """Drop the idle client in a forked child: its threads exist only in the parent, so closing it would hang."""
        _PARENT_CLIENTS.extend(self._idle)
        self._idle.clear()

    def _open(self, settings: tuple[object, ...], config: Mapping[str, str]) -> _Idle[C]:
        with ExitStack() as stack:
            return _Idle(settings, self._create(config, stack), stack.pop_all())

    def _pop(self, settings: tuple[object, ...]) -> _Idle[C] | None:
        with self._lock:
            entry = self._idle.pop() if self._idle else None
        if entry is None:
            return None
        if entry.settings != settings or time.monotonic() - entry.since > _IDLE_SECONDS:
            entry.resources.close()
            return None
        entry.client.on_reuse()
        return entry

    def _store(self, entry: _Idle[C]) -> None:
        with self._lock:
            previous, self._idle[:] = list(self._idle), [entry]
        for idle in previous:
            idle.resources.close()
