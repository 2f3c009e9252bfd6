"""What the cluster knows: topics, partitions, offsets. Asked on the driver, once a plan."""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

from confluent_kafka import (
    OFFSET_INVALID,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicMetadata

from kafka_sql.errors import AuthorizationError, BrokerError, BrokerUnreachableError, TopicNotFoundError
from kafka_sql.kafka.absent import absence
from kafka_sql.kafka.client import patience
from kafka_sql.kafka.properties import API_TIMEOUT, changeable, resolved
from kafka_sql.kafka.refusals import Refusals, refusal
from kafka_sql.options.references import masked, resolve

_LOG = logging.getLogger("kafka_sql.kafka")
T = TypeVar("T")

Position = tuple[str, int]  # topic, partition
Offsets = dict[Position, int]

# A producer's settings mean nothing to the admin client, and some (transactional.id) would change it.
_ADMIN_KEYS = (
    *("bootstrap.", "broker.", "client.", "reconnect.", "retry.", "socket."),
    *("security.", "sasl.", "enable.sasl.", "https.", "ssl.", "enable.ssl."),
)
_CLOSED = re.compile(r"closed by peer.*in state (APIVERSION_QUERY|AUTH_HANDSHAKE)")
_OTHER_PROTOCOL = "connections are closed at once: the listener may have another 'properties.security.protocol'"

_GONE = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._NOENT,  # the admin client's, where no leader is known
)
_FORBIDDEN = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)
_RIGHTS = (
    " Grant the user DESCRIBE on the topic, and READ on the group of 'properties.group.id' where offsets are kept."
)
_EARLIEST: OffsetSpec = OffsetSpec.earliest()
_LATEST: OffsetSpec = OffsetSpec.latest()
_NEWEST: OffsetSpec = OffsetSpec.max_timestamp()
_NEWEST_SECONDS = 1.0  # to wait for it: a metric may be missing, a batch may not be late

_FIRST_STEP = 0.5  # seconds of the first wait for an answer; between two of them refusals are looked at
_ELECTION = 0.1  # seconds between two questions while a partition, a new one for instance, has no leader
_BETWEEN_LEADERS = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)


class Cluster:
    """Questions to one Kafka cluster."""

    def __init__(self, config: Mapping[str, str]) -> None:
        """Make the client; nothing is asked yet.

        Args:
            config: librdkafka's configuration of a table, with references to secrets; they are resolved here.

        Raises:
            SecretReferenceError: a reference in it names nothing.
            KeyStoreError: a store cannot be read.
        """
        self._servers = config["bootstrap.servers"]
        self._wait = patience(config)
        self._election = int(config.get(API_TIMEOUT, 60_000)) / 1000  # as long as Java's clients
        self._read_committed = config.get("isolation.level") == "read_committed"
        self._errors: deque[str] = deque(maxlen=4)
        self._refusals = Refusals()
        self._config = {k: v for k, v in config.items() if k.startswith(_ADMIN_KEYS) and k != API_TIMEOUT}
        self._settings: dict[str, str] = {}
        self._renew()

    def _renew(self) -> None:
        """Make the client, and make it anew when what its references and files say has changed."""
        if self._settings and not changeable(self._config):
            return
        settings = resolved(self._config)
        if settings == self._settings:
            return
        self._settings = settings
        self._refusals.clear()
        try:
            callbacks: dict[str, Any] = {"error_cb": self._note, "logger": SimpleNamespace(log=self._log)}
            self._admin = AdminClient({**settings, **callbacks})
        except KafkaException as e:  # without its cause, which may quote what a reference was resolved to
            raise BrokerError(f"The Kafka client could not start: {self._shown(str(e.args[0]))}.") from None
        self._admin.poll(0)  # an unsecured bearer token is made from here; without it no broker answers

    def _shown(self, text: str) -> str:
        return masked(text, self._config, self._settings)

    def _log(self, _: int, words: str, *more: Any) -> None:
        # the admin client logs each attempt as an error; what counts is raised with its cause
        _LOG.debug(words, *more)
        if _CLOSED.search(" ".join(map(str, more))):
            self._errors.append(_OTHER_PROTOCOL)

    def _note(self, error: KafkaError) -> None:
        words = self._shown(str(error.str()))
        self._errors.append(words)
        self._refusals.note(error.code(), words)

    def topics(self) -> Mapping[str, TopicMetadata]:
        """All topics by name.

        Raises:
            BrokerUnreachableError: no answer in time.
            AuthenticationError: a password, a token or a certificate is refused.
        """
        return dict(self._ask(self._list).topics)

    def _list(self) -> Any:
        """The whole list: a request for one topic may create it where the broker creates topics by itself."""
        deadline, step = time.monotonic() + self._wait, _FIRST_STEP
        while True:
            left = deadline - time.monotonic()
            try:
                return self._admin.list_topics(timeout=max(min(step, left), 0.01))
            except KafkaException:
                self._admin.poll(0)
                if left <= step or self._refusals.lasting():
                    raise
            self._renew()
            step = min(2.4 * step, self._wait)

    def partitions(
        self, topics: tuple[str, ...], existing: Mapping[str, TopicMetadata] | None = None
    ) -> list[Position]:
        """All partitions of ``topics``, sorted.

        Args:
            existing: what ``topics`` answered, where it was asked already.

        Raises:
            TopicNotFoundError: names the missing topic and the nearest that exists.
            AuthorizationError: the user may not see a topic.
            BrokerUnreachableError: no answer in time.
        """
        known = self.topics() if existing is None else existing
        for topic in topics:
            if topic not in known:
                raise absence(self._admin, topic, known, self._servers, self._wait)
            error = known[topic].error
            if error is not None:
                raise BrokerError(f"Topic '{topic}' cannot be read on {self._servers}: {error.str()}.")
        return sorted((t, p) for t in topics for p in known[t].partitions)

    def earliest(self, positions: Collection[Position]) -> Offsets:
        """The first offset that each partition still holds."""
        return self._offsets(dict.fromkeys(positions, _EARLIEST), self._read_committed)

    def latest(self, positions: Collection[Position]) -> Offsets:
        """The offset after the last record: the last stable offset under ``read_committed``, else the high
        watermark.
        """
        return self._offsets(dict.fromkeys(positions, _LATEST), self._read_committed)

    def latest_of_existing(self, positions: Collection[Position]) -> Offsets:
        """The same; a partition that does not exist (any more, or not yet at its leader) is absent."""
        found: Offsets = {}
        for position, answer in self._answers(dict.fromkeys(positions, _LATEST), self._read_committed).items():
            with contextlib.suppress(TopicNotFoundError):
                found[position] = answer()
        return found

    def high_watermarks(self, positions: Collection[Position]) -> Offsets:
        """The offset after the last record, whether its transaction is open or not."""
        return self._offsets(dict.fromkeys(positions, _LATEST), False)

    def newest(self, positions: Collection[Position]) -> Callable[[], int | None]:
        """Ask for the time of the newest record in these partitions; does not wait.

        Returns:
            gives it, milliseconds since 1970-01-01 UTC; None where no partition has told one in time.
        """
        asked = {TopicPartition(t, p): _NEWEST for t, p in positions}
        return partial(_newest, self._admin.list_offsets(asked, request_timeout=self._wait).values() if asked else ())

    def at_times(self, times: Mapping[Position, int]) -> Offsets:
        """The first offset whose record is not older than the time; a partition without one is absent.

        Args:
            times: milliseconds since 1970-01-01 UTC.
        """
        # Kafka takes negative ones for positions
        asked = {p: OffsetSpec.for_timestamp(max(millis, 0)) for p, millis in times.items()}
        return {p: offset for p, offset in self._offsets(asked, self._read_committed).items() if offset >= 0}

    def committed(self, group: str | None, positions: Collection[Position]) -> Offsets:
        """The offsets that ``group`` has committed; a partition without one is absent."""
        if group is None or not positions:
            return {}
        group = resolve(group, "properties.group.id")
        request = ConsumerGroupTopicPartitions(group, [TopicPartition(t, p) for t, p in positions])
        futures = self._ask(lambda: self._admin.list_consumer_group_offsets([request], request_timeout=self._wait))
        answer = self._ask(lambda: futures[group].result())
        return {(tp.topic, tp.partition): tp.offset for tp in answer.topic_partitions if tp.offset >= 0}

    def commit(self, group: str, offsets: Mapping[Position, int]) -> Future[None]:
        """Commit offsets for ``group`` without joining it; does not wait.

        Returns:
            done when the coordinator has answered; fails with BrokerError.
        """
        request = ConsumerGroupTopicPartitions(
            resolve(group, "properties.group.id"), [TopicPartition(t, p, offset) for (t, p), offset in offsets.items()]
        )
        answer: Future[None] = Future()

        def take(asked: Future[ConsumerGroupTopicPartitions]) -> None:
            try:
                wrong = [tp for tp in asked.result().topic_partitions or [] if tp.error is not None]
            except KafkaException as e:
                kind, advice = _kind(e.args[0])
                answer.set_exception(kind(f"{self._servers}: {self._shown(str(e.args[0].str()))}.{advice}"))
                return
            if wrong:
                places = ", ".join(f"{tp.topic}[{tp.partition}]: {tp.error}" for tp in wrong)
                answer.set_exception(BrokerError(f"{self._servers}: {places}."))
            else:
                answer.set_result(None)

        futures = self._ask(lambda: self._admin.alter_consumer_group_offsets([request], request_timeout=self._wait))
        futures[request.group_id].add_done_callback(take)
        return answer

    def _offsets(self, asked: Mapping[Position, OffsetSpec], stable: bool) -> Offsets:
        return {position: answer() for position, answer in self._answers(asked, stable).items()}

    def _answers(self, asked: Mapping[Position, OffsetSpec], stable: bool) -> dict[Position, Callable[[], int]]:
        if not asked:
            return {}

        def ask(places: Mapping[Position, OffsetSpec]) -> dict[TopicPartition, Any]:
            return self._admin.list_offsets(
                {TopicPartition(t, p): spec for (t, p), spec in places.items()},
                isolation_level=IsolationLevel.READ_COMMITTED if stable else IsolationLevel.READ_UNCOMMITTED,
                request_timeout=self._wait / 3,  # a leader that has died does not answer
            )

        def again(place: Position) -> Any:
            self.topics()  # else the client asks the leader that it knows
            (answer,) = ask({place: asked[place]}).values()
            return answer

        answers = {(tp.topic, tp.partition): answer for tp, answer in ask(asked).items()}
        return {p: partial(self._offset, p, answer, partial(again, p)) for p, answer in answers.items()}

    def _offset(self, place: Position, answer: Any, again: Callable[[], Any]) -> int:
        deadline = time.monotonic() + self._election
        with self._named():
            while True:
                try:
                    offset = int(answer.result().offset)
                    if offset != OFFSET_INVALID:  # librdkafka's answer where the leader has gone
                        return offset
                    if time.monotonic() > deadline:
                        raise BrokerUnreachableError(
                            f"{place[0]}[{place[1]}] had no leader on {self._servers} for {self._election:g} s: are "
                            f"its brokers down? 'properties.{API_TIMEOUT}' sets how long to wait."
                        )
                except KafkaException as e:
                    code = e.args[0].code()
                    if code in _GONE and not self._listed(place):
                        raise TopicNotFoundError(
                            f"{place[0]}[{place[1]}] does not exist on {self._servers}: the topic was deleted, or "
                            "has fewer partitions."
                        ) from e
                    if code not in (*_BETWEEN_LEADERS, *_GONE) or time.monotonic() > deadline:
                        raise
                time.sleep(_ELECTION)  # nobody tells when a leader has been found
                answer = again()

    def _listed(self, place: Position) -> bool:
        """Whether the cluster knows a partition; that of a new topic it does a moment before its leader does."""
        topic = self.topics().get(place[0])
        return topic is not None and place[1] in topic.partitions

    def _ask(self, question: Callable[[], Any]) -> Any:
        with self._named():
            return question()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Kafka's exceptions as ours, with the address and the time waited."""
        self._renew()
        self._admin.poll(0)  # error callbacks and bearer tokens are served here only
        self._errors.clear()
        try:
            yield
            self._refusals.clear()
        except KafkaException as e:
            error: KafkaError = e.args[0]
            self._admin.poll(0)
            why = self._shown(str(error.str()))
            causes = "; ".join(dict.fromkeys(self._errors)) or why
            if error.code() in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN):
                if self._refusals.words:
                    raise refusal(self._refusals.words, self._settings, self._wait) from None
                raise BrokerUnreachableError(
                    f"No broker of '{self._servers}' (option 'properties.bootstrap.servers') answered within "
                    f"{self._wait:g} s: {causes}. Check the address, the network and 'properties.security.protocol'; "
                    "'properties.socket.connection.setup.timeout.ms' sets how long to wait."
                ) from e
            kind, advice = _kind(error)
            raise kind(f"{self._servers}: {why} ({error.name()}); {causes}.{advice}") from e


def _kind(error: KafkaError) -> tuple[type[BrokerError], str]:
    return (AuthorizationError, _RIGHTS) if error.code() in _FORBIDDEN else (BrokerError, "")


def _newest(answers: Collection[Future[Any]]) -> int | None:
    times = []
    for answer in wait(answers, _NEWEST_SECONDS).done:
        try:
            times.append(int(answer.result().timestamp))
        except KafkaException as e:  # of a broker before 3.0, for instance
            _LOG.debug("the time of a partition's newest record cannot be had: %s", e)
    return max((at for at in times if at >= 0), default=None)
