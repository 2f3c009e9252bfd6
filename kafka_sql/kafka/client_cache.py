"""Clients that outlive their use: a worker's next task finds connections, metadata and a producer's id there."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from kafka_sql.kafka.config.properties import login

_IDLE_SECONDS: Final = 30.0  # what lies between may forget a connection that is idle for longer


class _Client(Protocol):
    def rested(self) -> bool:
        """Whether it is as new, after a use without an error."""

    def renew(self) -> None:
        """Forget what was heard while it was idle, and before."""


C = TypeVar("C", bound=_Client)
_PARENTS: Final[list[object]] = []  # clients of the process that this one was forked off


@dataclass
class _Idle(Generic[C]):
    settings: tuple[object, ...] = field(repr=False)  # a login among them
    client: C
    end: ExitStack
    since: float = 0.0


class Kept(Generic[C]):
    """Room for one idle client of a process: the one that was used last."""

    def __init__(self, make: Callable[[Mapping[str, str], ExitStack], C]) -> None:
        """
        Args:
            make: makes a client of librdkafka's configuration, and registers how it ends.
        """
        self._make = make
        self._idle: list[_Idle[C]] = []  # one at most
        self._lock = threading.Lock()
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._disown)

    @contextmanager
    def use(self, config: Mapping[str, str]) -> Iterator[C]:
        """A client for the time of a ``with`` block.

        It is kept for the next block with the same settings, unless this one fails or is left early; a login that has
        changed is another setting.

        Args:
            config: librdkafka's, with references to secrets.

        Raises:
            BrokerError: librdkafka refuses the configuration as a whole.
            SecretReferenceError: a reference in it names nothing.
            KeyStoreError: a store cannot be read.
        """
        settings = (tuple(sorted(config.items())), login(config))
        one = self._take(settings) or self._new(settings, config)
        try:
            yield one.client
            keep = one.client.rested()
        except BaseException:
            one.end.close()
            raise
        if not keep:
            one.end.close()
            return
        one.since = time.monotonic()
        self._put(one)

    def close(self) -> None:
        """End the idle one."""
        while self._idle:
            self._idle.pop().end.close()

    def _disown(self) -> None:
        """In a child: a client's threads are the parent's, and to end it would wait for them for ever."""
        _PARENTS.extend(self._idle)
        self._idle.clear()

    def _new(self, settings: tuple[object, ...], config: Mapping[str, str]) -> _Idle[C]:
        with ExitStack() as stack:
            return _Idle(settings, self._make(config, stack), stack.pop_all())

    def _take(self, settings: tuple[object, ...]) -> _Idle[C] | None:
        with self._lock:
            one = self._idle.pop() if self._idle else None
        if one is None:
            return None
        if one.settings != settings or time.monotonic() - one.since > _IDLE_SECONDS:
            one.end.close()
            return None
        one.client.renew()
        return one

    def _put(self, one: _Idle[C]) -> None:
        with self._lock:
            others, self._idle[:] = list(self._idle), [one]
        for other in others:
            other.end.close()
