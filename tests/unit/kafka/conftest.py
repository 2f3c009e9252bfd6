"""Fixtures of the tests of Kafka clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_sql.kafka.protocol import token_cache
from tests.unit.kafka import token_functions


@pytest.fixture
def no_tokens(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Empty the token cache, and forget the calls and results of ``token_functions``."""
    monkeypatch.setattr(token_cache, "_tokens", {})
    token_functions.CALLS.clear()
    yield
    token_functions.CALLS.clear()
    token_functions.RESULT.clear()
