"""Share OAUTHBEARER tokens among the connections of a process, and renew them before they expire.

As in the Java client (ExpiringCredentialRefreshingLogin), a token is renewed after 80 to 85% of its lifetime, and a
token endpoint that is unavailable is asked again with a growing delay.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.errors import KafkaSqlError
from kafka_sql.kafka.config.token_providers import PROVIDER
from kafka_sql.kafka.protocol.oauth import Token, TokenEndpointUnavailableError, fetch_token
from kafka_sql.kafka.protocol.token_functions import call_provider

_LOG = logging.getLogger("kafka_sql.kafka")

_WINDOW_FACTOR, _WINDOW_JITTER = 0.8, 0.05  # Java's sasl.login.refresh.window.factor and .jitter
_BACKOFF, _MAX_BACKOFF = 0.1, 10.0  # seconds; Java's sasl.login.retry.backoff.ms and .max.ms
_RENEWAL_BACKOFF: Final = 10.0  # seconds between attempts to renew a token that is still valid
_MAX_TOKENS: Final = 1_000
_PREFIXES: Final = ("sasl.oauthbearer.", "https.ca.")


@dataclass
class _CachedToken:
    """The token of one client configuration."""

    lock: threading.Lock = field(default_factory=threading.Lock)  # held while a token is requested
    token: Token = field(default=Token("", 0.0), repr=False)
    renew_at: float = 0.0  # in seconds of ``time.time``, which continues while the machine sleeps
    uses: int = 0  # number of connections that got it


_tokens: Final[dict[tuple[tuple[str, str], ...], _CachedToken]] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _tokens.clear())  # another thread of the parent may hold a lock


def get_valid_token(config: Mapping[str, str], seconds: float) -> Token:
    """Return a valid token, the same one for all connections with the same configuration.

    It comes from a token endpoint, or from ``sasl.oauthbearer.token-provider``.

    Args:
        config: librdkafka's configuration, with references to secrets resolved.
        seconds: the timeout if no valid token is cached.

    Raises:
        TokenEndpointUnavailableError: the endpoint returned no token in time.
        BrokerError: the endpoint rejected the request.
        KafkaSqlError: the function returned no token.
    """
    deadline, cached = time.monotonic() + seconds, _cached(config)
    is_valid = time.time() < cached.token.expires_at
    if not is_valid or time.time() >= cached.renew_at:
        # while another thread renews a valid token, it can be used
        acquired = cached.lock.acquire(blocking=False) if is_valid else cached.lock.acquire(timeout=seconds)
        if acquired:
            try:
                _renew(cached, config, deadline)
            finally:
                cached.lock.release()
        elif not is_valid:
            raise TokenEndpointUnavailableError("no token was returned in time to another connection")
    cached.uses += 1
    return cached.token


def discard_token(config: Mapping[str, str]) -> bool:
    """Forget a token that a broker rejected, and return whether an earlier connection had got it.

    If so, it may have been revoked, and a new one may be accepted.
    """
    removed = _tokens.pop(_key(config), None)
    return removed is not None and removed.uses > 1


def _cached(config: Mapping[str, str]) -> _CachedToken:
    if len(_tokens) >= _MAX_TOKENS:  # of credentials that were rotated since
        _tokens.clear()
    return _tokens.setdefault(_key(config), _CachedToken())


def _key(config: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    prefixes = (*_PREFIXES, "bootstrap.servers") if PROVIDER in config else _PREFIXES  # clouds have tokens per cluster
    return tuple(sorted((name, value) for name, value in config.items() if name.startswith(prefixes)))


def _renew(cached: _CachedToken, config: Mapping[str, str], deadline: float) -> None:
    """Request a token, unless another thread just did. Requires the lock."""
    backoff = _BACKOFF
    while time.time() >= min(cached.renew_at, cached.token.expires_at):
        try:
            if PROVIDER in config:
                token = call_provider(config)
            else:
                token = fetch_token(config, max(0.001, deadline - time.monotonic()))
        except (TokenEndpointUnavailableError, KafkaSqlError) as e:
            is_transient = isinstance(e, TokenEndpointUnavailableError)
            if time.time() < cached.token.expires_at and (is_transient or PROVIDER in config):
                _LOG.warning("%s; the current token is used until it expires", e)
                cached.renew_at = time.time() + _RENEWAL_BACKOFF
                return
            if not is_transient or time.monotonic() + backoff >= deadline:
                raise
            time.sleep(backoff * random.uniform(0.8, 1.2))
            backoff = min(2 * backoff, _MAX_BACKOFF)
        else:
            now, window = time.time(), _WINDOW_FACTOR + _WINDOW_JITTER * random.random()
            cached.token, cached.uses = token, 0
            cached.renew_at = now + (token.expires_at - now) * window
            return
