"""A librdkafka handle: made from a configuration, with its log and its errors in Python's hands."""

from __future__ import annotations

import ctypes
import logging
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.config.properties import API_TIMEOUT, CONNECT_TIMEOUT, resolved
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.librdkafka.connection_failures import LASTING_AT_WORK, Refusals, refusal
from kafka_sql.options.secret_references import masked

_LOG = logging.getLogger("kafka_sql.librdkafka")
_LOG.addHandler(logging.NullHandler())  # for programs that set up logging: it warns of what it then mends by itself
_STATISTICS = logging.getLogger("kafka_sql.kafka.statistics")  # JSON, where 'properties.statistics.interval.ms' is set
_OWN_DOING = "CONFWARN"  # one configuration serves producers and consumers, and each hears that some is not for it
# syslog's levels, which librdkafka's log has, from the emergency on
_LEVELS = (*[logging.CRITICAL] * 3, logging.ERROR, logging.WARNING, logging.INFO, logging.INFO, logging.DEBUG)


@dataclass
class Handle:
    """A running librdkafka instance.

    Attributes:
        pointer: ``rd_kafka_t*``.
        errors: what the client last said of its brokers, newest last. It retries by itself, so these are the causes to
            name when a wait ends in vain.
        error_count: how many there were.
        refusals: those that mean that a broker and this client do not believe each other.
        settings: the client's own, with what the references name.
    """

    pointer: int
    errors: deque[str] = field(default_factory=lambda: deque(maxlen=4))
    error_count: int = 0
    refusals: Refusals = field(default_factory=Refusals, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    callbacks: list[object] = field(default_factory=list, repr=False)  # ctypes: they must live as long as the handle

    def causes(self) -> str:
        """The errors as the end of a sentence."""
        return "; ".join(dict.fromkeys(self.errors)) or "the client reported no error"

    def forget(self) -> None:
        """What was said so far is not the next user's."""
        self.errors.clear()
        self.error_count = 0
        self.refusals.clear()

    def check(self) -> None:
        """Do not wait any longer for brokers that refuse the client.

        Raises:
            AuthenticationError: they have done so for some seconds, and nothing has worked in between.
        """
        if self.refusals.lasting(LASTING_AT_WORK):
            raise refusal(self.refusals.words, self.settings, LASTING_AT_WORK)


@contextmanager
def open_handle(kind: int, config: Mapping[str, str], on_delivery: object | None = None) -> Iterator[Handle]:
    """A producer (``library.PRODUCER``) or consumer for the time of a ``with`` block.

    Args:
        config: librdkafka's, with references to secrets; they are resolved here.
        on_delivery: a ``library.DELIVERY_CALLBACK``, called from polls.

    Raises:
        BrokerError: librdkafka refuses the configuration as a whole.
        SecretReferenceError: a reference in it names nothing.
        KeyStoreError: a store cannot be read.
    """
    settings = resolved(config)
    handle = Handle(0, settings=settings)

    def shown(text: bytes) -> str:
        return masked(text.decode(errors="replace"), config, settings)

    def on_error(_: int, code: int, why: bytes, __: int) -> None:
        handle.error_count += 1
        words = shown(why)
        handle.errors.append(f"{words} ({bindings.reason(code)})")
        handle.refusals.note(code, words)

    def on_log(_: int, level: int, facility: bytes, text: bytes) -> None:
        facts = {"facility": facility.decode(), "client": settings.get("client.id", "")}
        severity = logging.DEBUG if facts["facility"] == _OWN_DOING else _LEVELS[level]
        _LOG.log(severity, "%s: %s", facts["facility"], shown(text), extra=facts)

    def on_statistics(_: int, text: bytes, __: int, ___: int) -> int:
        _STATISTICS.info("%s", text.decode(errors="replace"))
        return 0  # librdkafka frees the text

    error_callback, log_callback = bindings.ERROR_CALLBACK(on_error), bindings.LOG_CALLBACK(on_log)
    statistics_callback = bindings.STATISTICS_CALLBACK(on_statistics)
    handle.callbacks += [error_callback, log_callback, statistics_callback, on_delivery]
    conf, why = bindings.conf_new(), ctypes.create_string_buffer(512)
    # the log goes through the queue that our own thread polls: a callback from a foreign thread could outlive the
    # interpreter
    for key, value in {**settings, "log.queue": "true"}.items():
        if key != API_TIMEOUT and bindings.conf_set(conf, key.encode(), value.encode(), why, 512) != bindings.CONF_OK:
            bindings.conf_destroy(conf)
            raise BrokerError(f"The Kafka client refuses option 'properties.{key}'.")
    bindings.conf_set_error_cb(conf, error_callback)
    bindings.conf_set_log_cb(conf, log_callback)
    if settings.get("statistics.interval.ms", "0") != "0":
        bindings.conf_set_stats_cb(conf, statistics_callback)
    if on_delivery is not None:
        bindings.conf_set_dr_msg_cb(conf, on_delivery)
    handle.pointer = bindings.new(kind, conf, why, 512) or 0
    if not handle.pointer:
        bindings.conf_destroy(conf)
        raise BrokerError(f"The Kafka client could not start: {shown(why.value)}.")
    bindings.set_log_queue(handle.pointer, None)
    bindings.poll(handle.pointer, 0)  # an unsecured bearer token is made from here; without it no broker answers
    try:
        yield handle
    finally:
        bindings.destroy(handle.pointer)


def patience(config: Mapping[str, str]) -> float:
    """Seconds to wait for a first answer of the cluster: ``default.api.timeout.ms`` where set, else the connection
    timeout.
    """
    return int(config.get(API_TIMEOUT, config[CONNECT_TIMEOUT])) / 1000


def patience_at_work(config: Mapping[str, str]) -> float:
    """Seconds for which a cluster that has answered before may be silent: as many as Java's clients wait."""
    return int(config.get(API_TIMEOUT, 60_000)) / 1000
