"""Crash drivers at named points: between steps of a simulated query, and inside the sink, which is patched."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from kafka_sql.kafka.direct.writes.transaction_manager import TransactionManager
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.sink.exactly_once import committer
from kafka_sql.sink.exactly_once.ownership import PrefixOwner

# in the order in which a batch reaches them
POINTS = (
    "planned",  # before prepare
    "preparing",  # only one task has prepared its transaction
    "prepared",
    "claimed",  # older drivers are fenced
    "deciding",  # the decision is written, but not committed
    "decided",  # no transaction is committed yet
    "ending",  # one transaction is committed
    "ended",  # all transactions are committed, but the checkpoint is not updated
    "between",
)


def kill_process() -> None:
    """Send SIGKILL to this process."""
    os.kill(os.getpid(), signal.SIGKILL)


def suspend_process() -> None:
    """Suspend this process with SIGSTOP: the driver appears to be dead, but is not."""
    os.kill(os.getpid(), signal.SIGSTOP)


class CrashTrigger:
    """Crashes the driver at a point, once it is armed.

    Attributes:
        armed: whether reaching the point crashes the driver.
    """

    def __init__(self, point: str, crash: Callable[[], None] = kill_process) -> None:
        """Patch the sink, if the point is inside it.

        Args:
            point: name of the crash point.
            crash: called at the point.
        """
        self.point, self.crash, self.armed = point, crash, False
        inside: dict[str, Callable[[], None]] = {
            "claimed": self._claimed,
            "deciding": self._deciding,
            "decided": self._decided,
            "ending": self._ending,
        }
        inside.get(point, lambda: None)()

    def __call__(self, point: str) -> None:
        if self.armed and point == self.point:
            self.crash()

    def _claimed(self) -> None:
        claim_prefix = committer.claim_prefix

        def patched(*arguments: Any) -> Any:
            owner = claim_prefix(*arguments)
            self("claimed")
            return owner

        committer.claim_prefix = patched

    def _deciding(self) -> None:
        commit = TransactionManager.commit  # of the drivers' transactions, which are those of the decision log

        def patched(transaction: Any) -> None:
            if self.armed:
                self.crash()
            commit(transaction)

        TransactionManager.commit = patched  # type: ignore[method-assign]

    def _decided(self) -> None:
        record = PrefixOwner.record_decisions

        def patched(owner: Any, *new: Any, **keywords: Any) -> None:
            record(owner, *new, **keywords)
            if new:
                self("decided")

        PrefixOwner.record_decisions = patched  # type: ignore[method-assign]

    def _ending(self) -> None:
        commit = TransactionAdmin.commit

        def patched(transactions: Any, targets: Any) -> dict[str, int]:
            targets = list(targets)
            if self.armed and targets:
                commit(transactions, targets[:1])
                self.crash()
            return commit(transactions, targets)

        TransactionAdmin.commit = patched  # type: ignore[method-assign]
