"""Where a driver dies: between steps of the engine, and inside of the sink's own code, which is patched for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from kafka_sql.kafka.decision_log_writer import DecisionLogWriter
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.sink.exactly_once import committer
from kafka_sql.sink.exactly_once.ownership import PrefixOwner

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


def kill_process() -> None:
    """kill -9."""
    os.kill(os.getpid(), signal.SIGKILL)


def stop_process() -> None:
    """kill -STOP: the driver seems to be dead, and is not."""
    os.kill(os.getpid(), signal.SIGSTOP)


class CrashTrigger:
    """Dies at a point, once it is armed.

    Attributes:
        armed: whether the point is deadly yet.
    """

    def __init__(self, point: str, end: Callable[[], None] = kill_process) -> None:
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
        owning = committer.claim_prefix

        def own(*arguments: Any) -> Any:
            owned = owning(*arguments)
            self("claimed")
            return owned

        committer.claim_prefix = own

    def _deciding(self) -> None:
        commit = DecisionLogWriter._commit

        def patched(writer: Any) -> None:
            if self.armed:
                self.end()
            commit(writer)

        DecisionLogWriter._commit = patched  # type: ignore[method-assign]

    def _decided(self) -> None:
        record = PrefixOwner.record_decisions

        def patched(owned: Any, *new: Any, **more: Any) -> None:
            record(owned, *new, **more)
            if new:
                self("decided")

        PrefixOwner.record_decisions = patched  # type: ignore[method-assign]

    def _ending(self) -> None:
        commit = TransactionAdmin.commit

        def patched(transactions: Any, endings: Any) -> dict[str, int]:
            wanted = list(endings)
            if self.armed and wanted:
                commit(transactions, wanted[:1])
                self.end()
            return commit(transactions, wanted)

        TransactionAdmin.commit = patched  # type: ignore[method-assign]
