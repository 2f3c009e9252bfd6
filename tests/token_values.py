"""The value of the token that the connections of a configuration share."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_sql.kafka.protocol.token_cache import get_valid_token


def get_token(config: Mapping[str, str], seconds: float) -> str:
    """Return the value of a valid token."""
    return get_valid_token(config, seconds).value
