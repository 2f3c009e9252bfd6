"""The cache of idle clients: when the next task gets the same client, and when clients are closed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafka_sql.kafka import client_cache
from kafka_sql.kafka.client_cache import CachedClient, ClientCache


class Client(CachedClient):
    """A client that counts its uses."""

    def __init__(self) -> None:
        self.is_open, self.can_be_reused, self.reused = True, True, 0

    def is_reusable(self) -> bool:
        return self.can_be_reused

    def on_reuse(self) -> None:
        self.reused += 1

    def close(self) -> None:
        assert self.is_open
        self.is_open = False


def create(config: Mapping[str, str], stack: ExitStack) -> Client:
    client = Client()
    stack.callback(client.close)
    if "fails" in config:
        raise ZeroDivisionError
    return client


@pytest.fixture
def cache() -> ClientCache[Client]:
    return ClientCache(create)


def lease(cache: ClientCache[Client], **config: str) -> Client:
    with cache.lease(config) as client:
        assert client.is_open
    return client


def test_the_next_block_gets_the_same_client(cache: ClientCache[Client]) -> None:
    first = lease(cache, a="1", b="2")
    assert first.reused == 0
    assert lease(cache, b="2", a="1") is first
    assert (first.is_open, first.reused) == (True, 1)


def test_other_settings_close_the_idle_client(cache: ClientCache[Client]) -> None:
    first = lease(cache, a="1")
    second = lease(cache, a="2")
    assert (first.is_open, second.is_open) == (False, True)
    assert lease(cache, a="2") is second


def test_changed_credentials_close_the_idle_client(
    cache: ClientCache[Client], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PASSWORD", "old")
    config = {"sasl.password": "${env:PASSWORD}", "ssl.ca.location": str(tmp_path / "ca.pem")}
    (tmp_path / "ca.pem").write_text("old")
    first = lease(cache, **config)
    assert lease(cache, **config) is first
    monkeypatch.setenv("PASSWORD", "new")
    second = lease(cache, **config)
    assert second is not first
    (tmp_path / "ca.pem").write_text("a longer one")
    assert lease(cache, **config) is not second


@pytest.mark.parametrize(("idle_seconds", "is_same"), [(29.9, True), (30.1, False)])
def test_a_client_is_idle_for_a_limited_time(
    cache: ClientCache[Client], monkeypatch: pytest.MonkeyPatch, idle_seconds: float, is_same: bool
) -> None:
    now = 1_000.0
    monkeypatch.setattr(client_cache.time, "monotonic", lambda: now)
    first = lease(cache)
    now += idle_seconds
    assert (lease(cache) is first) == is_same
    assert first.is_open == is_same


def test_a_client_is_closed_after_an_error(cache: ClientCache[Client]) -> None:
    with pytest.raises(ZeroDivisionError), cache.lease({}) as client:
        raise ZeroDivisionError
    assert not client.is_open
    assert lease(cache) is not client


def test_a_client_that_is_not_reusable_is_closed(cache: ClientCache[Client]) -> None:
    with cache.lease({}) as client:
        client.can_be_reused = False
    assert not client.is_open
    assert lease(cache) is not client


def test_of_two_clients_in_use_the_last_one_is_kept(cache: ClientCache[Client]) -> None:
    with cache.lease({}) as outer, cache.lease({}) as inner:
        assert outer is not inner
    assert (inner.is_open, outer.is_open) == (False, True)
    assert lease(cache) is outer


def test_close(cache: ClientCache[Client]) -> None:
    cache.close()
    client = lease(cache)
    cache.close()
    assert not client.is_open
    assert lease(cache) is not client


def test_a_client_that_could_not_be_created_leaves_nothing_open(cache: ClientCache[Client]) -> None:
    with pytest.raises(ZeroDivisionError), cache.lease({"fails": ""}):
        pass
    assert cache._idle == []


def test_a_forked_process_creates_its_own_client(cache: ClientCache[Client]) -> None:
    client = lease(cache)
    child = os.fork()
    if child == 0:
        os._exit(0 if client.is_open and lease(cache) is not client else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert lease(cache) is client
