"""Wrap Kafka's admin client for one set of credentials, and raise its errors as this package's errors."""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Final, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, TopicMetadata

from kafka_sql.errors import AuthorizationError, BrokerError, BrokerUnreachableError
from kafka_sql.kafka.config.properties import (
    API_TIMEOUT,
    CONNECT_TIMEOUT,
    SOCKET_TIMEOUT,
    api_timeout,
    connect_timeout,
    resolve_config,
)
from kafka_sql.kafka.error_codes import is_retriable
from kafka_sql.kafka.librdkafka.connection_failures import AuthFailures, auth_error
from kafka_sql.kafka.librdkafka.masking import mask_message
from kafka_sql.kafka.librdkafka.token_callback import add_token_callback
from kafka_sql.kafka.protocol.codec import ApiKey

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
_RETRY_SECONDS: Final = 0.1
UNREACHABLE: Final = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN)
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
    # a silent connection is closed early enough to try another one
    socket_timeout = min(int(config[SOCKET_TIMEOUT]), int(connect_timeout(config) * 1000))
    return {**{k: v for k, v in config.items() if k.startswith(_ADMIN_KEYS)}, SOCKET_TIMEOUT: str(socket_timeout)}


def open_temporary_client(client_class: Any, config: Mapping[str, str], settings: Mapping[str, Any]) -> Any:
    """Create a client of confluent-kafka for a few requests. It logs at debug level only.

    Args:
        client_class: ``AdminClient``, ``Consumer`` or ``Producer``.
        config: librdkafka's configuration, with references to secrets.
        settings: settings that override it.

    Raises:
        BrokerError: librdkafka rejects the configuration.
    """
    resolved = resolve_config({k: v for k, v in config.items() if k != API_TIMEOUT})
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
        timeout: seconds for which a request is retried; longer once the cluster is known to work.
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
        self.request_timeout = self.timeout = connect_timeout(config)
        self._api_timeout = api_timeout(config)
        # the callbacks must not reference the client itself: it would never be closed
        self._events = _ClientEvents(config, settings)
        self.mask: Callable[[str], str] = self._events.mask
        self.api: AdminClient = self._open_client(AdminClient, {})

    def _open_client(self, client_class: Any, settings: Mapping[str, str]) -> Any:
        accepted = add_token_callback(self.settings, self._config, self._events.auth_failures.note_provider_failure)
        callbacks: dict[str, Any] = {"error_cb": self._events.on_error, "logger": SimpleNamespace(log=self._events.log)}
        try:
            client = client_class({**accepted, **settings, **callbacks})
        except KafkaException as e:  # without its cause, which may quote a resolved secret
            raise BrokerError(f"The Kafka client could not start: {self.mask(str(e.args[0]))}.") from None
        client.poll(0)  # creates an unsecured bearer token, which authentication needs
        return client

    def call(self, request: Callable[[AdminClient, float], T]) -> T:
        """Send a request and return its result; retry with growing timeouts while no broker responds.

        Most requests go to the controller, and librdkafka waits for the one that it knows. With KRaft that is any
        broker; when it dies, only a metadata request finds another.

        Args:
            request: takes the client and the seconds to wait. It may run twice, with the first request still pending.

        Raises:
            BrokerError: as ``translate_errors``.
        """
        attempts = self._attempts(_FIRST_CALL_TIMEOUT)
        with self.translate_errors():
            while True:
                seconds, is_last = next(attempts)
                try:
                    return request(self.api, seconds)
                except KafkaException as e:
                    if self._should_raise(is_last) or e.args[0].code() not in UNREACHABLE:
                        raise
                with contextlib.suppress(KafkaException):
                    self.api.list_topics(timeout=seconds)

    def call_coordinator(self, request: Callable[[AdminClient, float], T]) -> T:
        """Like ``call``, for the coordinator of a group: repeat the request while the coordinator is loading or moving.

        librdkafka does not repeat requests of its admin client.
        """
        deadline = time.monotonic() + self.timeout

        def repeat(api: AdminClient, seconds: float) -> T:
            while True:
                try:
                    return request(api, seconds)
                except KafkaException as e:
                    if not is_retriable(e.args[0].code(), ApiKey.DESCRIBE_GROUPS) or time.monotonic() > deadline:
                        raise
                time.sleep(_RETRY_SECONDS)  # brokers do not notify clients when a coordinator is ready

        return self.call(repeat)

    @contextlib.contextmanager
    def open_consumer(self, group: str) -> Iterator[Consumer]:
        """Open a consumer for requests about a group that it does not join, and close it after the block.

        Raises:
            BrokerError: librdkafka rejects the group's id.
        """
        consumer = self._open_client(Consumer, {"group.id": group, "enable.auto.commit": "false"})
        try:
            yield consumer
        finally:
            consumer.close()

    def list_topics(self, has_new_credentials: Callable[[], bool]) -> dict[str, TopicMetadata] | None:
        """Return all topics by name. A request for a single topic could create it on a broker that creates topics.

        Args:
            has_new_credentials: whether the credentials have changed since the client was created.

        Returns:
            None if they changed while no broker responded.

        Raises:
            BrokerError: as ``translate_errors``.
        """
        attempts = self._attempts(_FIRST_METADATA_TIMEOUT)
        with self.translate_errors():
            while True:
                seconds, is_last = next(attempts)
                try:
                    return dict(self.api.list_topics(timeout=seconds).topics)
                except KafkaException:
                    if self._should_raise(is_last):
                        raise
                if has_new_credentials():
                    return None

    def _attempts(self, first_timeout: float) -> Iterator[tuple[float, bool]]:
        """Yield per attempt its timeout, and whether it is the last one within ``self.timeout``."""
        deadline, step = time.monotonic() + self.timeout, first_timeout
        while True:
            remaining = deadline - time.monotonic()
            yield max(min(step, remaining), 0.01), remaining <= step
            step *= _BACKOFF_FACTOR

    def _should_raise(self, is_last: bool) -> bool:
        """Whether a failed attempt is not retried."""
        self.api.poll(0)
        return is_last or self._events.auth_failures.is_persistent()

    def use_api_timeout(self) -> None:
        """Retry for longer from now on: a broker has responded, so the address and credentials are correct."""
        self.timeout = max(self.timeout, self._api_timeout)

    def use_connect_timeout(self) -> None:
        """Fail early again: the client was idle, and the cluster may have changed."""
        self.timeout = self.request_timeout

    @contextlib.contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise Kafka's exceptions in the block as this package's, with the address, the time waited and the cause.

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
        except KafkaException as e:
            error: KafkaError = e.args[0]
            self.api.poll(0)
            reason = self.mask(str(error.str()))
            causes = "; ".join(dict.fromkeys(self._events.errors)) or reason
            if error.code() in UNREACHABLE:
                if message := self._events.auth_failures.message:
                    raise auth_error(message, self.settings, self.timeout) from None
                option = CONNECT_TIMEOUT if self.timeout < self._api_timeout else API_TIMEOUT
                raise BrokerUnreachableError(
                    f"No broker of '{self.servers}' (option 'properties.bootstrap.servers') responded within "
                    f"{self.timeout:g} s: {causes}. Check the address, the network and 'properties.security.protocol'; "
                    f"'properties.{option}' sets how long to wait.",
                    servers=self.servers,
                ) from e
            error_type, advice = translate_error(error)
            raise error_type(f"{self.servers}: {reason} ({error.name()}); {causes}.{advice}") from e


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
