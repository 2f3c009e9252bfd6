"""A consumer that outlives its split: the worker's next split finds connections and metadata there."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.kafka import library
from kafka_sql.kafka.client import Handle, open_handle
from kafka_sql.kafka.properties import login

_IDLE_SECONDS: Final = 30.0  # what lies between may forget a connection that is idle for longer


@dataclass
class _Consumer:
    settings: tuple[object, ...] = field(repr=False)  # a login among them
    handle: Handle
    queue: int
    end: ExitStack
    since: float = 0.0


_idle: list[_Consumer] = []  # one at most
_lock = threading.Lock()


@contextmanager
def consumer(config: Mapping[str, str]) -> Iterator[tuple[Handle, int]]:
    """A consumer and its queue, for the time of a ``with`` block. Nothing is assigned to it.

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
    one = _kept(settings) or _made(settings, config)
    try:
        yield one.handle, one.queue
        library.assign(one.handle.pointer, None)
    except BaseException:
        one.end.close()
        raise
    one.since = time.monotonic()
    _keep(one)


def _made(settings: tuple[object, ...], config: Mapping[str, str]) -> _Consumer:
    with ExitStack() as stack:
        handle = stack.enter_context(open_handle(library.CONSUMER, config))
        library.poll_set_consumer(handle.pointer)
        stack.callback(library.consumer_close, handle.pointer)
        queue = library.consumer_queue(handle.pointer)
        stack.callback(library.queue_destroy, queue)
        return _Consumer(settings, handle, queue, stack.pop_all())


def _kept(settings: tuple[object, ...]) -> _Consumer | None:
    with _lock:
        one = _idle.pop() if _idle else None
    if one is None:
        return None
    if one.settings != settings or time.monotonic() - one.since > _IDLE_SECONDS:
        one.end.close()
        return None
    one.handle.errors.clear()
    one.handle.refusals.clear()
    return one


def _keep(one: _Consumer) -> None:
    with _lock:
        others, _idle[:] = list(_idle), [one]
    for other in others:
        other.end.close()


def _close() -> None:
    while _idle:
        _idle.pop().end.close()


atexit.register(_close)
os.register_at_fork(after_in_child=_idle.clear)  # its threads are the parent's
