"""Report which function or package creates the tokens of a table, and get one."""

from __future__ import annotations

import time
from collections.abc import Iterator

from kafka_sql.checks.finding import Finding, run_check
from kafka_sql.definition import Definition
from kafka_sql.errors import AuthenticationError
from kafka_sql.kafka.config.properties import connect_timeout, resolve_config
from kafka_sql.kafka.config.token_providers import describe_provider
from kafka_sql.kafka.protocol.token_cache import get_valid_token


def check_tokens(definition: Definition) -> Iterator[Finding]:
    """Get a token on this machine, if 'properties.sasl.oauthbearer.token-provider' is used. It is not shown."""
    provider = describe_provider(definition.client_config)
    if provider is not None:
        yield run_check(definition.name, "tokens", lambda: _check_token(definition, provider))


def _check_token(definition: Definition, provider: str) -> str:
    config = resolve_config(definition.client_config)
    try:
        lifetime = get_valid_token(config, connect_timeout(config)).expires_at - time.time()
    except OSError as e:
        raise AuthenticationError(f"{e}.") from None
    return f"{provider} returned a token, which expires in {lifetime:,.0f} s"
