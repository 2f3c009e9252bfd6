"""Test crash points: those inside the sink patch existing functions, and all of them crash only when armed."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.kafka.direct.writes.transaction_manager import TransactionManager
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.sink.exactly_once import committer
from kafka_sql.sink.exactly_once.ownership import PrefixOwner
from tests.kills.crash_points import POINTS, CrashTrigger

# crash point inside the sink -> the patched function, and its arguments
PATCHED: dict[str, tuple[Any, str, tuple[Any, ...]]] = {
    "claimed": (committer, "claim_prefix", ("config", "writer", 0)),
    "deciding": (TransactionManager, "commit", ("transaction",)),
    "decided": (PrefixOwner, "record_decisions", ("owner", "decision")),
    "ending": (TransactionAdmin, "commit", ("admin", ["first", "second"])),
}


class Crashed(Exception):
    """Raised in place of a signal."""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Replace the functions that triggers patch, and restore them after the test."""
    calls: list[tuple[Any, ...]] = []

    def recorder(name: str) -> Callable[..., str]:
        def record(*arguments: Any) -> str:
            calls.append((name, *arguments))
            return name

        return record

    for target, name, _ in PATCHED.values():
        monkeypatch.setattr(target, name, recorder(name))
    return calls


def crash() -> None:
    raise Crashed


@pytest.mark.parametrize("point", PATCHED)
def test_a_point_inside_the_sink(point: str, calls: list[tuple[Any, ...]]) -> None:
    target, name, arguments = PATCHED[point]
    trigger = CrashTrigger(point, crash)
    getattr(target, name)(*arguments)
    assert calls == [(name, *arguments)]
    trigger.armed = True
    with pytest.raises(Crashed):
        getattr(target, name)(*arguments)
    before_crash: dict[str, list[tuple[Any, ...]]] = {"deciding": [], "ending": [(name, "admin", ["first"])]}
    assert calls[1:] == before_crash.get(point, [(name, *arguments)])


@pytest.mark.parametrize("point", [point for point in POINTS if point not in PATCHED])
def test_a_point_between_steps(point: str, calls: list[tuple[Any, ...]]) -> None:
    trigger = CrashTrigger(point, crash)
    for other in POINTS:
        trigger(other)
    trigger.armed = True
    trigger("another")
    with pytest.raises(Crashed):
        trigger(point)
    for target, name, arguments in PATCHED.values():
        getattr(target, name)(*arguments)
    assert len(calls) == len(PATCHED)


def test_releasing_the_claim() -> None:
    from tests.kills.simulated_query import SimulatedQuery

    query: Any = SimpleNamespace(committer=SimpleNamespace(_owner="owner"))
    SimulatedQuery.release_claim(query)
    assert query.committer._owner is None
    assert "_owner" in committer.Committer.__init__.__code__.co_names  # the real one has it, too
