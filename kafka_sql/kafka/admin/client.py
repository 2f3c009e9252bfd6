"""Wrap Kafka's admin client for one set of credentials, and raise its errors as this package's errors."""

from __future__ import annotations

import contextlib
import logging
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, TopicMetadata

from kafka_sql.errors import AuthorizationError, BrokerError, BrokerUnreachableError
from kafka_sql.kafka.config.properties import OWN_TIMEOUTS, SOCKET_TIMEOUT, resolve_config
from kafka_sql.kafka.error_codes import is_retriable
from kafka_sql.kafka.librdkafka.connection_failures import UNREACHABLE, AuthFailures, auth_error
from kafka_sql.kafka.librdkafka.message_masking import mask_message
from kafka_sql.kafka.librdkafka.token_callback import add_token_callback
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.retries import Retries, TimeLimit, api_limit, first_response_limit, request_timeout

_LOG = logging.getLogger("kafka_sql.kafka")
T = TypeVar("T")

# Without settings of producers and consumers: the admin client needs none, and must not become transactional.
_ADMIN_KEYS: Final = (
    *("bootstrap.", "broker.", "client.", "reconnect.", "retry.", "socket."),
    *("security.", "sasl.", "enable.sasl.", "https.", "ssl.", "enable.ssl."),
)
_CLOSED: Final = re.compile(r"closed by peer.*in state (APIVERSION_QUERY|AUTH_HANDSHAKE|SSL_HANDSHAKE)")
_OTHER_PROTOCOL: Final = (
    "connections are closed immediately: the listener may use another 'properties.security.protocol'"
)

# Seconds for the first attempt of a request. Between attempts, authentication failures are checked.
_FIRST_METADATA_TIMEOUT: Final = 0.5
_FIRST_CALL_TIMEOUT: Final = 2.0  # a broker may have to work for the response
_BACKOFF_FACTOR: Final = 2.4
_MIN_TIMEOUT: Final = 0.01
_MIN_SOCKET_TIMEOUT_MS: Final = 10  # librdkafka's
_AUTHORIZATION_FAILED: Final = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)
_GRANT_ADVICE: Final = (
    " Grant the user DESCRIBE on the topic, and READ on the group of 'properties.group.id' if offsets are committed."
)


def admin_config(config: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a table's configuration that applies to an admin client."""
    socket_timeout = str(max(int(request_timeout(config) * 1000), _MIN_SOCKET_TIMEOUT_MS))
    return {**{k: v for k, v in config.items() if k.startswith(_ADMIN_KEYS)}, SOCKET_TIMEOUT: socket_timeout}


def open_temporary_client(client_class: Any, config: Mapping[str, str], settings: Mapping[str, Any]) -> Any:
    """Create a client of confluent-kafka for a few requests. It logs at debug level only.

    Args:
        client_class: ``AdminClient``, ``Consumer`` or ``Producer``.
        config: librdkafka's configuration, with references to secrets.
        settings: settings that override it.

    Raises:
        BrokerError: librdkafka rejects the configuration.
    """
    resolved = resolve_config({k: v for k, v in config.items() if k not in OWN_TIMEOUTS})
    events = _ClientEvents(config, resolved)
    accepted = add_token_callback(resolved, config, events.auth_failures.note_provider_failure)
    try:
        client = client_class({**accepted, **settings, "logger": SimpleNamespace(log=events.log)})
    except KafkaException as e:
        raise BrokerError(f"The Kafka client could not start: {events.mask(str(e.args[0]))}.") from None
    client.poll(0)  # creates an unsecured bearer token, which authentication needs
    return client


class Admin:
    """An admin client. It is closed when nothing references it any more; its pending futures then never complete.

    Attributes:
        api: confluent-kafka's client.
        settings: librdkafka's settings, with references resolved.
        servers: the bootstrap servers, for error messages.
        request_timeout: seconds to wait for the response to one request.
        api_limit: how long a request is retried if any broker has responded.
        mask: removes secrets from a message of the client.
    """

    def __init__(self, config: Mapping[str, str], settings: Mapping[str, str]) -> None:
        """Create the client. This sends no request.

        Args:
            config: the configuration of a table's client, with references to secrets; messages show the references
                instead of the secrets.
            settings: the part of it that ``admin_config`` returns, with references resolved.

        Raises:
            BrokerError: librdkafka rejects the settings.
            KafkaSqlError: 'properties.sasl.oauthbearer.token-provider' returned no token.
        """
        self.settings, self._config, self.servers = settings, config, config["bootstrap.servers"]
        self.request_timeout, self.api_limit = request_timeout(config), api_limit(config)
        self._has_response = False
        # the callbacks must not reference the client itself: it would never be closed
        self._events = _ClientEvents(config, settings)
        self.mask: Callable[[str], str] = self._events.mask
        self.api: AdminClient = self._open_client()

    def _open_client(self) -> Any:
        accepted = add_token_callback(self.settings, self._config, self._events.auth_failures.note_provider_failure)
        callbacks: dict[str, Any] = {"error_cb": self._events.on_error, "logger": SimpleNamespace(log=self._events.log)}
        try:
            client = AdminClient({**accepted, **callbacks})
        except KafkaException as e:  # without its cause, which may quote a resolved secret
            raise BrokerError(f"The Kafka client could not start: {self.mask(str(e.args[0]))}.") from None
        client.poll(0)  # creates an unsecured bearer token, which authentication needs
        return client

    def call(self, api: ApiKey, request: Callable[[AdminClient, float], T]) -> T:
        """Send a request and return its result. Repeat it while no broker responds, or the error is retriable.

        Most requests go to the controller, and librdkafka waits for the one that it knows. With KRaft that is any
        broker; when it fails, only a metadata request finds another.

        Args:
            api: the request, which determines the retriable errors.
            request: takes the client and the seconds to wait. It may run twice, with the first request still pending.

        Raises:
            BrokerError: as ``translate_errors``.
        """
        retries, seconds = self.retries(api.title), _FIRST_CALL_TIMEOUT
        with self.translate_errors(retries):
            while True:
                try:
                    result = request(self.api, self._attempt_timeout(retries, seconds))
                except KafkaException as e:
                    self.pause(retries, e.args[0], api)
                else:
                    self._has_response = True
                    return result
                with contextlib.suppress(KafkaException):
                    self.api.list_topics(timeout=self._attempt_timeout(retries, seconds))
                    self._has_response = True
                seconds *= _BACKOFF_FACTOR

    def retries(self, request: str) -> Retries:
        """Begin the attempts of a request.

        Args:
            request: its name, and what it is about, for the error message.
        """
        return Retries(request, self.servers, self.limit)

    def limit(self) -> TimeLimit:
        """Return how long a request is retried: not long before any broker has responded to the client."""
        return self.api_limit if self._has_response else first_response_limit(self._config)

    def list_topics(self, has_new_credentials: Callable[[], bool]) -> dict[str, TopicMetadata] | None:
        """Return all topics by name. A request for a single topic could create it on a broker that creates topics.

        Args:
            has_new_credentials: whether the credentials have changed since the client was created.

        Returns:
            None if they changed while no broker responded.

        Raises:
            BrokerError: as ``translate_errors``.
        """
        retries, seconds = self.retries(ApiKey.METADATA.title), _FIRST_METADATA_TIMEOUT
        with self.translate_errors(retries):
            while True:
                try:
                    topics = dict(self.api.list_topics(timeout=self._attempt_timeout(retries, seconds)).topics)
                except KafkaException as e:
                    self.pause(retries, e.args[0], ApiKey.METADATA)
                else:
                    self._has_response = True
                    return topics
                if has_new_credentials():
                    return None
                seconds *= _BACKOFF_FACTOR

    def _attempt_timeout(self, retries: Retries, seconds: float) -> float:
        return max(min(seconds, self.request_timeout, retries.remaining()), _MIN_TIMEOUT)

    def pause(self, retries: Retries, error: KafkaError, api: ApiKey) -> None:
        """Wait before the next attempt of a request that failed.

        Raises:
            KafkaException: the request is not to be sent again.
            BrokerUnreachableError: its time limit is reached.
        """
        self.api.poll(0)
        is_unreachable = error.code() in UNREACHABLE
        if is_unreachable and self._events.auth_failures.is_persistent():
            raise KafkaException(error)
        if not is_unreachable and not is_retriable(error.code(), api):
            raise KafkaException(error)
        self._has_response |= not is_unreachable
        retries.pause(self._describe(error))

    def _describe(self, error: KafkaError) -> str:
        """Return the error, and what the client has reported about its brokers."""
        return "; ".join(dict.fromkeys((*self._events.errors, f"{self.mask(str(error.str()))} ({error.name()})")))

    @contextlib.contextmanager
    def translate_errors(self, retries: Retries | None = None) -> Iterator[None]:
        """Raise Kafka's exceptions in the block as this package's, with the address, the time waited and the cause.

        Args:
            retries: the request of the block.

        Raises:
            BrokerUnreachableError: no response in time.
            AuthenticationError: a password, a token or a certificate is rejected.
            AuthorizationError: the user is not authorized.
            BrokerError: another error.
        """
        self.api.poll(0)  # serves error callbacks and bearer tokens, which nothing else does
        self._events.errors.clear()
        try:
            yield
            self._events.auth_failures.clear()
        except BrokerUnreachableError:
            if message := self._events.auth_failures.message:
                raise auth_error(message, self.settings, self.limit().seconds) from None
            raise
        except KafkaException as e:
            error: KafkaError = e.args[0]
            self.api.poll(0)
            if error.code() in UNREACHABLE:
                if message := self._events.auth_failures.message:
                    raise auth_error(message, self.settings, self.limit().seconds) from None
                raise (retries or self.retries("The request")).error(self._describe(error)) from e
            error_type, advice = translate_error(error)
            raise error_type(f"{self.servers}: {self._describe(error)}.{advice}") from e


def translate_error(error: KafkaError) -> tuple[type[BrokerError], str]:
    """Return the error class for one of Kafka's errors, and what to do about it."""
    return (AuthorizationError, _GRANT_ADVICE) if error.code() in _AUTHORIZATION_FAILED else (BrokerError, "")


class _ClientEvents:
    """The errors that a client has reported about its brokers."""

    def __init__(self, config: Mapping[str, str], settings: Mapping[str, str]) -> None:
        self._config, self._settings = config, settings
        self.errors: deque[str] = deque(maxlen=4)
        self.auth_failures = AuthFailures()

    def mask(self, text: str) -> str:
        return mask_message(text, self._config, self._settings)

    def on_error(self, error: KafkaError) -> None:
        message = self.mask(str(error.str()))
        self.errors.append(message)
        self.auth_failures.record(error.code(), message)

    def log(self, _: int, message: str, *arguments: Any) -> None:
        # the client logs each failed attempt as an error; an error that matters is raised, with its cause
        line = self.mask(message % arguments)
        _LOG.debug("%s", line)
        if _CLOSED.search(line):
            self.errors.append(_OTHER_PROTOCOL)
