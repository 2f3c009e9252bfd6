"""Where a driver dies: between steps of the engine, and inside of the sink's own code, which is patched for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from kafka_sql.kafka.decision_log_writer import LogWriter
from kafka_sql.kafka.protocol.transaction_admin import Transactions
from kafka_sql.sink.exactly_once import committer
from kafka_sql.sink.exactly_once.ownership import Owned

# in the order in which a batch passes them
POINTS = (
    "planned",  # before prepare
    "preparing",  # one task has, the others have not
    "prepared",
    "claimed",  # older drivers are fenced, nothing else
    "deciding",  # the decision is produced, and not committed
    "decided",  # and not one transaction is ended
    "ending",  # one transaction is ended
    "ended",  # all are, and the checkpoint does not know
    "between",
)


def die() -> None:
    """kill -9."""
    os.kill(os.getpid(), signal.SIGKILL)


def stop() -> None:
    """kill -STOP: the driver seems to be dead, and is not."""
    os.kill(os.getpid(), signal.SIGSTOP)


class Doom:
    """Dies at a point, once it is armed.

    Attributes:
        armed: whether the point is deadly yet.
    """

    def __init__(self, point: str, end: Callable[[], None] = die) -> None:
        """
        Args:
            end: what to do there.
        """
        self.point, self.end, self.armed = point, end, False
        inside: dict[str, Callable[[], None]] = {
            "claimed": self._claimed,
            "deciding": self._deciding,
            "decided": self._decided,
            "ending": self._ending,
        }
        inside.get(point, lambda: None)()

    def __call__(self, point: str) -> None:
        if self.armed and point == self.point:
            self.end()

    def _claimed(self) -> None:
        owning = committer.own

        def own(*arguments: Any) -> Any:
            owned = owning(*arguments)
            self("claimed")
            return owned

        committer.own = own

    def _deciding(self) -> None:
        commit = LogWriter._commit

        def patched(writer: Any) -> None:
            if self.armed:
                self.end()
            commit(writer)

        LogWriter._commit = patched  # type: ignore[method-assign]

    def _decided(self) -> None:
        record = Owned.record

        def patched(owned: Any, *new: Any, **more: Any) -> None:
            record(owned, *new, **more)
            if new:
                self("decided")

        Owned.record = patched  # type: ignore[method-assign]

    def _ending(self) -> None:
        commit = Transactions.commit

        def patched(transactions: Any, endings: Any) -> dict[str, int]:
            wanted = list(endings)
            if self.armed and wanted:
                commit(transactions, wanted[:1])
                self.end()
            return commit(transactions, wanted)

        Transactions.commit = patched  # type: ignore[method-assign]
