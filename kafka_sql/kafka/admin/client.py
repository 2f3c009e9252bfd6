"""Wrap Kafka's admin client for one set of credentials, and raise its errors as this package's errors."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, TopicMetadata

from kafka_sql.errors import AuthorizationError, BrokerError, BrokerUnreachableError
from kafka_sql.kafka.config.properties import OWN_TIMEOUTS, SOCKET_TIMEOUT, credentials_fingerprint
from kafka_sql.kafka.error_codes import is_retriable
from kafka_sql.kafka.librdkafka.client import ClientErrors, open_client
from kafka_sql.kafka.librdkafka.connection_failures import UNREACHABLE, auth_error
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.retries import Retries, TimeLimit, api_limit, first_response_limit, request_timeout

_LOG = logging.getLogger("kafka_sql.kafka")
T = TypeVar("T")

# Without settings of producers and consumers: the admin client needs none, and must not become transactional.
_ADMIN_KEYS: Final = (
    *(*OWN_TIMEOUTS, "bootstrap.", "broker.", "client.", "reconnect.", "retry.", "socket."),
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


def log_quietly(errors: ClientErrors, _: int, __: str, line: str) -> None:
    """Log a line at debug level: a client logs each failed attempt as an error; one that matters is raised."""
    _LOG.debug("%s", line)
    if _CLOSED.search(line):
        errors.recent.append((_OTHER_PROTOCOL, ""))


class Admin:
    """An admin client. It is closed when nothing references it any more; its pending futures then never complete.

    Its requests raise the errors of ``translate_errors``.

    Attributes:
        api: confluent-kafka's client.
        errors: what it has reported.
        servers: the bootstrap servers, for error messages.
        request_timeout: seconds to wait for the response to one request.
    """

    def __init__(self, config: Mapping[str, str]) -> None:
        """Create the client. This sends no request.

        Raises:
            BrokerError: librdkafka rejects the settings.
            KafkaSqlError: as ``open_client``.
        """
        self._config, self._settings, self.servers = config, admin_config(config), config["bootstrap.servers"]
        self.request_timeout, self._has_response = request_timeout(config), False
        self._credentials = credentials_fingerprint(self._settings)
        self.api, self.errors = open_client(AdminClient, self._settings, log_quietly)

    def credentials_changed(self) -> bool:
        """Return whether a secret behind a reference, or a certificate file, changed since the client was created."""
        return credentials_fingerprint(self._settings) != self._credentials

    def call(self, api: ApiKey, request: Callable[[AdminClient, float], T]) -> T:
        """Send a request and return its result. Repeat it while no broker responds, or the error is retriable.

        Most requests go to the controller, and librdkafka waits for the one that it knows. With KRaft that is any
        broker; when it fails, only a metadata request finds another.

        Args:
            api: the request, which determines the retriable errors.
            request: takes the client and the seconds to wait. It may run twice, with the first request still pending.
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
        return api_limit(self._config) if self._has_response else first_response_limit(self._config)

    def list_topics(self) -> dict[str, TopicMetadata] | None:
        """Return all topics by name. A request for a single topic could create it on a broker that creates topics.

        Returns:
            None if the credentials changed while no broker responded.
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
                if self.credentials_changed():
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
        if is_unreachable and self.errors.auth_failures.is_persistent():
            raise KafkaException(error)
        if not is_unreachable and not is_retriable(error.code(), api):
            raise KafkaException(error)
        self._has_response |= not is_unreachable
        retries.pause(self._describe(error))

    def _describe(self, error: KafkaError) -> str:
        """Return the error, and what the client has reported about its brokers."""
        causes = [message for message, _ in self.errors.recent]
        return "; ".join(dict.fromkeys((*causes, f"{self.errors.mask(str(error.str()))} ({error.name()})")))

    @contextlib.contextmanager
    def translate_errors(self, retries: Retries | None = None) -> Iterator[None]:
        """Raise Kafka's exceptions in the block as this package's, with the address, the time waited and the cause.

        Raises:
            BrokerUnreachableError: no response in time.
            AuthenticationError: a password, a token or a certificate is rejected.
            AuthorizationError: the user is not authorized.
            BrokerError: another error.
        """
        self.api.poll(0)  # serves error callbacks and bearer tokens, which nothing else does
        self.errors.recent.clear()
        try:
            yield
            self.errors.auth_failures.clear()
        except BrokerUnreachableError:
            if message := self.errors.auth_failures.message:
                raise auth_error(message, self.errors.settings, self.limit().seconds) from None
            raise
        except KafkaException as e:
            error: KafkaError = e.args[0]
            self.api.poll(0)
            if error.code() in UNREACHABLE:
                if message := self.errors.auth_failures.message:
                    raise auth_error(message, self.errors.settings, self.limit().seconds) from None
                raise (retries or self.retries("The request")).error(self._describe(error)) from e
            error_type, advice = translate_error(error)
            raise error_type(f"{self.servers}: {self._describe(error)}.{advice}") from e


def translate_error(error: KafkaError) -> tuple[type[BrokerError], str]:
    """Return the error class for one of Kafka's errors, and what to do about it."""
    return (AuthorizationError, _GRANT_ADVICE) if error.code() in _AUTHORIZATION_FAILED else (BrokerError, "")
