"""Functions for 'sasl.oauthbearer.token-provider' in tests."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from functools import partial
from typing import Any

CALLS: list[str] = []  # the arguments of all calls
RESULT: list[Any] = []  # what ``returned`` returns; an exception is raised

foreign_function = os.getcwd
not_callable = 1


def numbered(config: str) -> tuple[str, timedelta]:
    """Return a token with the number of the call."""
    CALLS.append(config)
    return f"token-{len(CALLS)}", timedelta(hours=1)


def returned(config: str) -> Any:
    CALLS.append(config)
    if isinstance(RESULT[0], Exception):
        raise_result()
    return RESULT[0]


def raise_result() -> None:
    raise RESULT[0]


def like_oauth_cb(_: str) -> tuple[str, float, str, dict[str, str]]:
    """Return all that confluent-kafka's ``oauth_cb`` can return."""
    return "a.b.c", time.time() + 3600, "principal", {"logicalCluster": "lkc-1", "poolId": "p 1"}


def without_argument() -> tuple[str, timedelta]:
    return "t", timedelta(hours=1)


class Provider:
    """A callable object, and one in an attribute."""

    def __call__(self, config: str) -> tuple[str, timedelta]:
        return f"object-{config}", timedelta(hours=1)

    @staticmethod
    def create(config: str) -> tuple[str, timedelta]:
        return f"static-{config}", timedelta(hours=1)


provider = Provider()
imported = partial(numbered)
