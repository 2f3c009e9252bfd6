"""Give librdkafka's clients the tokens of ``sasl.oauthbearer.token-provider``, as confluent-kafka's ``oauth_cb``.

librdkafka calls it in its background thread, after 80% of a token's lifetime, and ten seconds after a failure. All
clients of a process with the same options share a token (``token_cache``). confluent-kafka waits for one second in the
constructor of each client with this callback.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from kafka_sql.errors import AuthenticationError, KafkaSqlError
from kafka_sql.kafka.config.properties import connect_timeout
from kafka_sql.kafka.config.token_providers import PROVIDER, is_provider_setting
from kafka_sql.kafka.protocol.token_cache import get_valid_token

_LOG = logging.getLogger("kafka_sql.kafka")
_PRINCIPAL = "kafka_sql"  # librdkafka requires a name, and does not send it


def add_token_callback(
    settings: Mapping[str, Any], config: Mapping[str, str], report: Callable[[str], None]
) -> dict[str, Any]:
    """Return confluent-kafka's settings for a client, with the callback if a provider is configured.

    This gets the first token: confluent-kafka would wait for ten seconds for a function that raises an exception, and
    hide the exception.

    Args:
        settings: librdkafka's settings, with references to secrets resolved.
        config: the configuration of a table's client.
        report: takes the message of a later failure.

    Raises:
        KafkaSqlError: the function returned no token.
    """
    if PROVIDER not in settings:
        return dict(settings)
    seconds, resolved = connect_timeout(config), {k: v for k, v in settings.items() if isinstance(v, str)}
    try:
        get_valid_token(resolved, seconds)
    except OSError as e:
        raise AuthenticationError(f"{e}.", servers=config["bootstrap.servers"]) from None

    def callback(_: str) -> tuple[str, float, str, dict[str, str]]:
        try:
            token = get_valid_token(resolved, seconds)
        except (KafkaSqlError, OSError) as e:
            report(e.message if isinstance(e, KafkaSqlError) else str(e))
            _LOG.warning("no OAUTHBEARER token: %s", e)
            raise
        pairs = (pair.partition("=") for pair in token.extensions.split("\x01") if pair)
        return token.value, token.expires_at, _PRINCIPAL, {name: value for name, _, value in pairs}

    return {**{k: v for k, v in settings.items() if not is_provider_setting(k)}, "oauth_cb": callback}
