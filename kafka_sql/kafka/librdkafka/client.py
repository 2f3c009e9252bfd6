"""Create a librdkafka handle from a configuration, with its log and its errors forwarded to Python."""

from __future__ import annotations

import ctypes
import logging
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from kafka_sql.errors import BrokerError
from kafka_sql.kafka import bindings
from kafka_sql.kafka.config.properties import API_TIMEOUT, resolve_config
from kafka_sql.kafka.librdkafka.connection_failures import PERSISTENT_SECONDS_IN_USE, AuthFailures, auth_error
from kafka_sql.options.secret_references import mask_secrets

_LOG = logging.getLogger("kafka_sql.librdkafka")
# silent unless logging is configured: librdkafka also warns about errors from which it recovers
_LOG.addHandler(logging.NullHandler())
_STATISTICS = logging.getLogger("kafka_sql.kafka.statistics")  # JSON, if 'properties.statistics.interval.ms' is set
# one configuration serves producers and consumers, and each warns about the settings of the other
_CONFIG_WARNING = "CONFWARN"
# for the syslog levels of librdkafka's log, from emergency on
_LEVELS = (*[logging.CRITICAL] * 3, logging.ERROR, logging.WARNING, logging.INFO, logging.INFO, logging.DEBUG)


@dataclass
class Handle:
    """A running librdkafka instance.

    Attributes:
        pointer: ``rd_kafka_t*``.
        errors: the last broker errors that the client reported, newest last. It retries by itself, so these are the
            causes to report when a wait times out.
        error_count: how many errors it reported.
        auth_failures: failed authentications, of the client or of the broker.
        settings: the client's, with references resolved.
    """

    pointer: int
    errors: deque[str] = field(default_factory=lambda: deque(maxlen=4))
    error_count: int = 0
    auth_failures: AuthFailures = field(default_factory=AuthFailures, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    callbacks: list[object] = field(default_factory=list, repr=False)  # they must live as long as the handle

    def causes(self) -> str:
        """Return the errors as the end of a sentence."""
        return "; ".join(dict.fromkeys(self.errors)) or "the client reported no error"

    def clear_errors(self) -> None:
        """Forget the errors of the previous use."""
        self.errors.clear()
        self.error_count = 0
        self.auth_failures.clear()

    def raise_if_rejected(self) -> None:
        """Raise the error if brokers keep rejecting the client.

        Raises:
            AuthenticationError: authentication has failed for some seconds, without a success in between.
        """
        if self.auth_failures.is_persistent(PERSISTENT_SECONDS_IN_USE):
            raise auth_error(self.auth_failures.message, self.settings, PERSISTENT_SECONDS_IN_USE)


@contextmanager
def open_handle(client_type: int, config: Mapping[str, str], on_delivery: object | None = None) -> Iterator[Handle]:
    """Open a producer or a consumer for a ``with`` block.

    Args:
        client_type: ``bindings.PRODUCER`` or ``bindings.CONSUMER``.
        config: librdkafka's, with references to secrets; they are resolved here.
        on_delivery: a ``bindings.DELIVERY_CALLBACK``, called from polls.

    Raises:
        BrokerError: librdkafka rejects the configuration.
        SecretReferenceError: a reference cannot be resolved.
        KeyStoreError: a store cannot be read.
    """
    settings = resolve_config(config)
    handle = Handle(0, settings=settings)

    def mask(text: bytes) -> str:
        return mask_secrets(text.decode(errors="replace"), config, settings)

    def on_error(_: int, code: int, reason: bytes, __: int) -> None:
        handle.error_count += 1
        message = mask(reason)
        handle.errors.append(f"{message} ({bindings.reason(code)})")
        handle.auth_failures.record(code, message)

    def on_log(_: int, level: int, facility: bytes, text: bytes) -> None:
        extra = {"facility": facility.decode(), "client": settings.get("client.id", "")}
        severity = logging.DEBUG if extra["facility"] == _CONFIG_WARNING else _LEVELS[level]
        _LOG.log(severity, "%s: %s", extra["facility"], mask(text), extra=extra)

    def on_statistics(_: int, text: bytes, __: int, ___: int) -> int:
        _STATISTICS.info("%s", text.decode(errors="replace"))
        return 0  # librdkafka frees the text

    error_callback, log_callback = bindings.ERROR_CALLBACK(on_error), bindings.LOG_CALLBACK(on_log)
    statistics_callback = bindings.STATISTICS_CALLBACK(on_statistics)
    handle.callbacks += [error_callback, log_callback, statistics_callback, on_delivery]
    conf, error = bindings.conf_new(), ctypes.create_string_buffer(512)
    # log messages are queued and polled by this thread: a callback on librdkafka's thread could outlive the interpreter
    for key, value in {**settings, "log.queue": "true"}.items():
        if key != API_TIMEOUT and bindings.conf_set(conf, key.encode(), value.encode(), error, 512) != bindings.CONF_OK:
            bindings.conf_destroy(conf)
            raise BrokerError(f"The Kafka client rejects option 'properties.{key}'.")
    bindings.conf_set_error_cb(conf, error_callback)
    bindings.conf_set_log_cb(conf, log_callback)
    if settings.get("statistics.interval.ms", "0") != "0":
        bindings.conf_set_stats_cb(conf, statistics_callback)
    if on_delivery is not None:
        bindings.conf_set_dr_msg_cb(conf, on_delivery)
    handle.pointer = bindings.new(client_type, conf, error, 512) or 0
    if not handle.pointer:
        bindings.conf_destroy(conf)
        raise BrokerError(f"The Kafka client could not start: {mask(error.value)}.")
    bindings.set_log_queue(handle.pointer, None)
    bindings.poll(handle.pointer, 0)  # creates an unsecured bearer token, which authentication needs
    try:
        yield handle
    finally:
        bindings.destroy(handle.pointer)
