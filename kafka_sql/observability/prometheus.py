"""Serve the metrics to Prometheus on a port, under Flink's names with the prefix ``kafka_sql_``."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kafka_sql.errors import InvalidOptionError
from kafka_sql.observability.metric_definitions import PREFIX, all_metrics

if TYPE_CHECKING:
    from kafka_sql.observability.listener import Observer


class _MetricsCollector(Collector):
    """Collects the current metrics of an observer for each scrape."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def collect(self) -> Iterator[Metric]:
        for metric in all_metrics(self._observer.jobs(), time.time_ns() // 1_000_000):
            family = GaugeMetricFamily(PREFIX + metric.name, metric.description, labels=metric.labels)
            for labels, value in metric.values:
                family.add_metric(labels, value)
            yield family


LOOPBACK: Final = "127.0.0.1"
_PORT_ERRORS: Final = (errno.EADDRINUSE, errno.EACCES, errno.EPERM)
_ports: dict[int, int] = {}  # by the observer's identity, for the lifetime of the process


def serve_metrics(observer: Observer, port: int, host: str = LOOPBACK) -> int:
    """Serve an observer's metrics, and return the port. Repeated calls for an observer return the first call's port.

    Args:
        host: address or name of the network interface to listen on. Whoever can connect to it can read the metrics.

    Raises:
        InvalidOptionError: the port is in use, or requires privileges, or this machine does not have the address.
    """
    if id(observer) not in _ports:
        registry = CollectorRegistry()
        registry.register(_MetricsCollector(observer))
        try:
            server, _ = start_http_server(port, host, registry)
        except (OSError, UnicodeError) as e:  # UnicodeError: no valid host name
            if isinstance(e, OSError) and e.errno in _PORT_ERRORS:
                raise InvalidOptionError(
                    f"Invalid value '{port}' for option 'metrics.reporter.prom.port': the port is not available "
                    f"({e.strerror}). Choose another port, or '0' for a free one.",
                    option="metrics.reporter.prom.port",
                ) from e
            raise InvalidOptionError(
                f"Invalid value '{host}' for option 'metrics.reporter.prom.host': this machine has no such address. "
                "Use '0.0.0.0' for all addresses.",
                option="metrics.reporter.prom.host",
            ) from e
        _ports[id(observer)] = server.server_port
    return _ports[id(observer)]
