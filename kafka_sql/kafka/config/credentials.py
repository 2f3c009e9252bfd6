"""Check that the credentials of the SASL mechanism are configured, before a client fails without them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import MissingOptionError
from kafka_sql.kafka.config.conversions import JAAS
from kafka_sql.kafka.config.kerberos import sasl_mechanism
from kafka_sql.kafka.config.token_providers import PROVIDER, check_provider

_PACKAGE: Final = "org.apache.kafka.common.security"
_LOGIN_MODULES: Final = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
}
_LOGIN: Final = {"the user name": "sasl.username", "the password": "sasl.password"}
# librdkafka's options that make it request or create tokens, with the values that do not
_TOKEN_SOURCES: Final = {
    "sasl.oauthbearer.method": "default",
    "sasl.oauthbearer.metadata.authentication.type": "none",
    "enable.sasl.oauthbearer.unsecure.jwt": "false",
}


def check_credentials(config: Mapping[str, str]) -> None:
    """Check that the mechanism has what it needs to log in.

    A reference to a secret counts as a value. Kerberos needs no credentials: a client uses the ticket cache of its
    machine.

    Args:
        config: librdkafka's configuration, with normalized values. References may be unresolved.

    Raises:
        MissingOptionError: a user name or a password is missing, or no token can be requested.
        OptionError: as ``check_provider``.
    """
    check_provider(config)
    mechanism = sasl_mechanism(config)
    if mechanism is None or config.get(JAAS):  # the whole JAAS string is a reference
        return
    if mechanism in _LOGIN_MODULES:
        missing = [name for name, key in _LOGIN.items() if not config.get(key)]
        if missing:
            raise _missing(
                f"'{mechanism}' requires a user name and a password. Missing: {', '.join(missing)}",
                f'{_PACKAGE}.{_LOGIN_MODULES[mechanism]} required username="..." password="...";',
            )
    if (
        mechanism == "OAUTHBEARER"
        and PROVIDER not in config
        and all(config.get(key, default) == default for key, default in _TOKEN_SOURCES.items())
    ):
        raise _missing(
            "'OAUTHBEARER' requires 'properties.sasl.oauthbearer.token.endpoint.url', from which clients request "
            f"tokens, and the client's id and secret; or 'properties.{PROVIDER}', a Python function that returns them",
            f'{_PACKAGE}.oauthbearer.OAuthBearerLoginModule required clientId="..." clientSecret="...";',
        )


def _missing(problem: str, example: str) -> MissingOptionError:
    return MissingOptionError(
        f"Option 'properties.sasl.mechanism' = {problem}. Set 'properties.{JAAS}' = '{example}'.",
        option=f"properties.{JAAS}",
    )
