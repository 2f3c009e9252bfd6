"""Open confluent-kafka's clients, with their log, statistics and errors forwarded to Python."""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from kafka_sql.errors import AuthenticationError, BrokerError, KafkaSqlError
from kafka_sql.kafka.config.librdkafka_properties import find_rejected
from kafka_sql.kafka.config.properties import OWN_TIMEOUTS, connect_timeout, resolve_config
from kafka_sql.kafka.config.token_providers import PROVIDER, is_provider_setting
from kafka_sql.kafka.librdkafka.connection_failures import PERSISTENT_SECONDS_IN_USE, AuthFailures, auth_error
from kafka_sql.kafka.protocol.token_cache import get_valid_token
from kafka_sql.options.secret_references import mask_secrets

_LOG = logging.getLogger("kafka_sql.kafka")
_LIBRDKAFKA_LOG = logging.getLogger("kafka_sql.librdkafka")
# silent unless logging is configured: librdkafka also warns about errors from which it recovers
_LIBRDKAFKA_LOG.addHandler(logging.NullHandler())
_STATISTICS = logging.getLogger("kafka_sql.kafka.statistics")  # JSON, if 'properties.statistics.interval.ms' is set
# one configuration serves producers and consumers, and each warns about the settings of the other
_CONFIG_WARNING: Final = "CONFWARN"
_CREATION_FAILED: Final = "Failed to create "

Client = TypeVar("Client", Producer, Consumer, AdminClient)
Mask = Callable[[str], str]
_PRINCIPAL = "kafka_sql"  # librdkafka requires a name, and does not send it
_TOKEN_FAILURE: Final = re.compile(
    r'((?:SASL OAUTHBEARER token|(?:OIDC|JWT) token from "[^"]*"): )(.*?)( \(-?\d+\))?\Z', re.DOTALL
)
# messages of librdkafka and libcurl
_CLIENT_MESSAGES: Final = re.compile(
    r"""(?:Failed to connect to |Could(?:n't| not) (?:connect|resolve) |(?:Connection|Operation|Resolving) timed out"""
    r"""|Timeout was reached|SSL |SSL: |OpenSSL |TLS |Recv failure: |Send failure: |Empty reply from server"""
    r"""|Server did not provide an error string|Expected (?:JSON |token as )|Failed to (?:decode|parse) (?:JSON|JWT) """
    r"""|Must supply an unexpired token: )[\w .,:;()'"/\[\]*=-]{0,300}"""
)
# RFC 6749, section 5.2
_OAUTH_ERRORS: Final = (
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
)


@dataclass
class ClientErrors:
    """The errors that a client has reported.

    A client refers to this object and not the reverse, so that it is closed as soon as its user drops it.
    """

    settings: Mapping[str, str] = field(repr=False)  # the client's settings, with references resolved
    mask: Mask = field(repr=False)  # replaces secrets in a string
    # the last broker errors, each with the description of its code, newest last. The client itself retries, so these
    # are the causes to report when a wait times out.
    recent: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=4))
    count: int = 0  # how many broker errors were reported
    # failed authentications, of the client or of the broker
    auth_failures: AuthFailures = field(default_factory=AuthFailures, repr=False)
    fatal: KafkaError | None = None  # the error that ended the client

    def record(self, error: KafkaError) -> None:
        """Record an error."""
        code, message = error.code(), self.mask(_text(error))
        self.count += 1
        self.recent.append((message, KafkaError(code).str()))
        self.auth_failures.record(code, message)
        if error.fatal():
            self.fatal = error

    def causes(self) -> str:
        """Return the errors as the end of a sentence."""
        causes = (f"{message} ({code})" for message, code in self.recent)
        return "; ".join(dict.fromkeys(causes)) or "the client reported no error"

    def clear(self) -> None:
        """Forget the errors of the previous use."""
        self.recent.clear()
        self.count = 0
        self.auth_failures.clear()

    def raise_if_rejected(self) -> None:
        """Raise the error if brokers keep rejecting the client.

        Raises:
            AuthenticationError: authentication has failed for several seconds, without a success in between.
        """
        if self.auth_failures.is_persistent(PERSISTENT_SECONDS_IN_USE):
            raise auth_error(self.auth_failures.message, self.settings, PERSISTENT_SECONDS_IN_USE)


def forward_log(errors: ClientErrors, level: int, facility: str, line: str) -> None:
    """Log a line of a client with its level."""
    severity = logging.DEBUG if facility == _CONFIG_WARNING else level
    _LIBRDKAFKA_LOG.log(
        severity, "%s: %s", facility, line, extra={"facility": facility, "client": errors.settings.get("client.id", "")}
    )


def open_client(
    client_class: type[Client],
    config: Mapping[str, str],
    log: Callable[[ClientErrors, int, str, str], None] = forward_log,
    **callbacks: Any,
) -> tuple[Client, ClientErrors]:
    """Create a client.

    Its callbacks run in its methods that poll, so none is called once the interpreter exits.

    Args:
        log: takes the level, the facility and the text of a log line, without secrets.

    Raises:
        BrokerError: librdkafka rejects the configuration.
        KafkaSqlError: as ``resolve_config``.
        KafkaSqlError: 'properties.sasl.oauthbearer.token-provider' returned no token.
    """
    settings = resolve_config(config)

    def mask(text: str) -> str:
        return mask_message(text, config, settings)

    errors = ClientErrors(settings, mask)

    def log_line(level: int, _: str, facility: str, __: str, line: str) -> None:
        log(errors, level, facility, mask(line))

    accepted: dict[str, Any] = {key: value for key, value in settings.items() if key not in OWN_TIMEOUTS}
    if settings.get("statistics.interval.ms", "0") != "0":
        callbacks["stats_cb"] = _log_statistics
    client_settings = add_token_callback(accepted, settings, errors.auth_failures.note_provider_failure)
    client_settings |= {**callbacks, "error_cb": errors.record, "logger": SimpleNamespace(log=log_line)}
    try:
        client = client_class(client_settings)
    except (KafkaException, ValueError, ImportError) as e:  # without its cause, which may quote a resolved secret
        raise _creation_error(e, accepted, mask) from None
    with suppress(UnicodeDecodeError):  # a log line with a broker's message that is not UTF-8
        client.poll(0)  # creates an unsecured bearer token, which authentication needs
    return client, errors


def _text(error: KafkaError) -> str:
    """Return librdkafka's message, with U+FFFD for invalid UTF-8 from brokers."""
    try:
        return str(error.str())
    except UnicodeDecodeError as e:
        return e.object.decode(errors="replace")


def _log_statistics(text: str) -> None:
    _STATISTICS.info("%s", text)


def _creation_error(error: Exception, settings: Mapping[str, str], mask: Mask) -> BrokerError:
    message = _text(error.args[0]) if isinstance(error, KafkaException) else str(error)
    if not message.startswith(_CREATION_FAILED) and (rejected := find_rejected(settings)):
        return BrokerError(f"The Kafka client rejects option 'properties.{rejected[0]}'.")
    # "Failed to create producer: reason"
    reason = message.split(": ", 1)[-1] if message.startswith(_CREATION_FAILED) else message
    return BrokerError(f"The Kafka client could not start: {mask(reason)}.")


def add_token_callback(
    settings: Mapping[str, Any], config: Mapping[str, str], report: Callable[[str], None]
) -> dict[str, Any]:
    """Return confluent-kafka's settings for a client, with ``oauth_cb`` if a token provider is configured.

    librdkafka calls it in its background thread, after 80% of a token's lifetime, and ten seconds after a failure. All
    clients of a process with the same options share a token (``token_cache``). confluent-kafka waits for one second in
    the constructor of each client with this callback.

    This gets the first token: confluent-kafka would wait for ten seconds for a function that raises an exception, and
    hide the exception.

    Args:
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


def mask_message(text: str, config: Mapping[str, str], settings: Mapping[str, str]) -> str:
    """Return a message of librdkafka as it may be shown: without secrets, and without responses of token endpoints.

    librdkafka quotes the response of a token endpoint that rejects a request. The author of a statement can name any
    URL as the endpoint, even that of an internal service, and could read its responses in the errors.
    """
    return mask_secrets(_TOKEN_FAILURE.sub(_hide_response, text), config, settings)


def _hide_response(failure: re.Match[str]) -> str:
    start, response, status = failure[1], failure[2], failure[3] or ""
    if _CLIENT_MESSAGES.fullmatch(response):
        return failure[0]
    code = next((code for code in _OAUTH_ERRORS if f'"{code}"' in response), None)
    reason = f"the endpoint returned the error {code}" if code else "the endpoint returned an invalid response"
    return f"{start}{reason}{status}"
