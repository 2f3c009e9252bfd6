"""Kafka's admin client with one login, and its errors as ours."""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, TopicMetadata

from kafka_sql.errors import AuthorizationError, BrokerError, BrokerUnreachableError
from kafka_sql.kafka.config.properties import API_TIMEOUT, CONNECT_TIMEOUT, SOCKET_TIMEOUT
from kafka_sql.kafka.librdkafka.client import patience, patience_at_work
from kafka_sql.kafka.librdkafka.connection_failures import Refusals, refusal
from kafka_sql.options.secret_references import masked

_LOG = logging.getLogger("kafka_sql.kafka")
T = TypeVar("T")

# A producer's settings mean nothing to the admin client, and some (transactional.id) would change it.
_KEYS: Final = (
    *("bootstrap.", "broker.", "client.", "reconnect.", "retry.", "socket."),
    *("security.", "sasl.", "enable.sasl.", "https.", "ssl.", "enable.ssl."),
)
_CLOSED: Final = re.compile(r"closed by peer.*in state (APIVERSION_QUERY|AUTH_HANDSHAKE)")
_OTHER_PROTOCOL: Final = "connections are closed at once: the listener may have another 'properties.security.protocol'"

_FIRST_STEP: Final = 0.5  # seconds of the first wait for an answer; between two of them refusals are looked at
_FIRST_QUESTION: Final = 2.0  # where an answer may take a broker's work
_PATIENCE: Final = 2.4  # times as long is the next wait
NO_ANSWER: Final = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN)
_FORBIDDEN: Final = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)
_RIGHTS: Final = (
    " Grant the user DESCRIBE on the topic, and READ on the group of 'properties.group.id' where offsets are kept."
)


def admin_config(config: Mapping[str, str]) -> dict[str, str]:
    """What of a table's configuration means something to the admin client."""
    # a connection that has become silent is given up while there is still time to ask on another one
    silence = min(int(config[SOCKET_TIMEOUT]), int(patience(config) * 1000))
    return {**{k: v for k, v in config.items() if k.startswith(_KEYS)}, SOCKET_TIMEOUT: str(silence)}


class Admin:
    """A client. Where nobody holds it any more it ends, and its outstanding answers never come.

    Attributes:
        api: confluent-kafka's.
        settings: librdkafka's, with what the references name.
        servers: for errors.
        request: seconds for the answer to one request.
        wait: seconds for which to ask; more of them once the cluster is known to work.
        shown: the client's words without secrets.
    """

    def __init__(self, config: Mapping[str, str], settings: Mapping[str, str]) -> None:
        """Make the client; nothing is asked yet.

        Args:
            config: a table's, with references to secrets: they are shown in place of what they name.
            settings: ``admin_config``'s part of it, with what they name.

        Raises:
            BrokerError: librdkafka refuses the settings as a whole.
        """
        self.settings, self.servers = settings, config["bootstrap.servers"]
        self.request = self.wait = patience(config)
        self._wait_at_work = patience_at_work(config)
        # what the callbacks hold must not hold the client: it would not end with its last use
        self._heard = _Heard(config, settings)
        self.shown: Callable[[str], str] = self._heard.shown
        callbacks: dict[str, Any] = {"error_cb": self._heard.note, "logger": SimpleNamespace(log=self._heard.log)}
        try:
            self.api = AdminClient({**settings, **callbacks})
        except KafkaException as e:  # without its cause, which may quote what a reference was resolved to
            raise BrokerError(f"The Kafka client could not start: {self.shown(str(e.args[0]))}.") from None
        self.api.poll(0)  # an unsecured bearer token is made from here; without it no broker answers

    def ask(self, question: Callable[[AdminClient, float], T]) -> T:
        """One question and its answer; asked again, ever more patiently, where nobody answers.

        Most questions go to the controller, and librdkafka waits for the one that it knows. Where brokers keep their
        own records of the cluster that is any of them, and when it dies nothing but metadata names another.

        Args:
            question: is given the client and the seconds for an answer. It may be put twice, the first one unanswered.

        Raises:
            BrokerError: as ``named``.
        """
        deadline, step = time.monotonic() + self.wait, _FIRST_QUESTION
        with self.named():
            while True:
                left = deadline - time.monotonic()
                try:
                    return question(self.api, max(min(step, left), 0.01))
                except KafkaException as e:
                    self.api.poll(0)
                    if e.args[0].code() not in NO_ANSWER or left <= step or self._heard.refusals.lasting():
                        raise
                with contextlib.suppress(KafkaException):
                    self.api.list_topics(timeout=step)
                step *= _PATIENCE

    def topics(self, is_old: Callable[[], bool]) -> dict[str, TopicMetadata] | None:
        """All topics by name: a request for one may create it where the broker creates topics by itself.

        Args:
            is_old: whether the login has changed since the client was made.

        Returns:
            None where it has, while nobody answered.

        Raises:
            BrokerError: as ``named``.
        """
        deadline, step = time.monotonic() + self.wait, _FIRST_STEP
        with self.named():
            while True:
                left = deadline - time.monotonic()
                try:
                    return dict(self.api.list_topics(timeout=max(min(step, left), 0.01)).topics)
                except KafkaException:
                    self.api.poll(0)
                    if left <= step or self._heard.refusals.lasting():
                        raise
                if is_old():
                    return None
                step *= _PATIENCE

    def works(self) -> None:
        """A leader has answered: addresses and rights are right, and a silence is a fault that may pass."""
        self.wait = max(self.wait, self._wait_at_work)

    def doubt(self) -> None:
        """The opposite: some time has passed since."""
        self.wait = self.request

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Kafka's exceptions in the block as ours, with the address, the time waited and the cause.

        Raises:
            BrokerUnreachableError: no answer in time.
            AuthenticationError: a password, a token or a certificate is refused.
            AuthorizationError: the user may not.
            BrokerError: another answer.
        """
        self.api.poll(0)  # error callbacks and bearer tokens are served here only
        self._heard.errors.clear()
        try:
            yield
            self._heard.refusals.clear()
        except KafkaException as e:
            error: KafkaError = e.args[0]
            self.api.poll(0)
            why = self.shown(str(error.str()))
            causes = "; ".join(dict.fromkeys(self._heard.errors)) or why
            if error.code() in NO_ANSWER:
                if refused := self._heard.refusals.words:
                    raise refusal(refused, self.settings, self.wait) from None
                knob = CONNECT_TIMEOUT if self.wait < self._wait_at_work else API_TIMEOUT
                raise BrokerUnreachableError(
                    f"No broker of '{self.servers}' (option 'properties.bootstrap.servers') answered within "
                    f"{self.wait:g} s: {causes}. Check the address, the network and 'properties.security.protocol'; "
                    f"'properties.{knob}' sets how long to wait."
                ) from e
            kind, advice = kind_of(error)
            raise kind(f"{self.servers}: {why} ({error.name()}); {causes}.{advice}") from e


def kind_of(error: KafkaError) -> tuple[type[BrokerError], str]:
    """Which of our errors one of Kafka's is, and what to do."""
    return (AuthorizationError, _RIGHTS) if error.code() in _FORBIDDEN else (BrokerError, "")


class _Heard:
    """What a client has said of its brokers."""

    def __init__(self, config: Mapping[str, str], settings: Mapping[str, str]) -> None:
        self._config, self._settings = config, settings
        self.errors: deque[str] = deque(maxlen=4)
        self.refusals = Refusals()

    def shown(self, text: str) -> str:
        return masked(text, self._config, self._settings)

    def note(self, error: KafkaError) -> None:
        words = self.shown(str(error.str()))
        self.errors.append(words)
        self.refusals.note(error.code(), words)

    def log(self, _: int, words: str, *more: Any) -> None:
        # the admin client logs each attempt as an error; what counts is raised with its cause
        _LOG.debug(words, *more)
        if _CLOSED.search(" ".join(map(str, more))):
            self.errors.append(_OTHER_PROTOCOL)
