"""The metrics as Prometheus text on a port, under Flink's names with ``kafka_sql_`` before them."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kafka_sql.errors import InvalidOptionError
from kafka_sql.observability.listener import Observer
from kafka_sql.observability.metric_definitions import PREFIX, all_metrics


class _Metrics(Collector):
    """An observer's metrics when they are asked for."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def collect(self) -> Iterator[Metric]:
        for figure in all_metrics(self._observer.jobs(), time.time_ns() // 1_000_000):
            family = GaugeMetricFamily(PREFIX + figure.name, figure.text, labels=figure.labels)
            for labels, value in figure.values:
                family.add_metric(labels, value)
            yield family


_served: dict[int, int] = {}  # the ports by the observers' identities, for the process's life


def serve_metrics(observer: Observer, port: int) -> int:
    """Serve an observer's metrics; the port. A second call for the same observer gives the first one's.

    Raises:
        InvalidOptionError: the port is taken, or not this user's.
    """
    if id(observer) not in _served:
        registry = CollectorRegistry()
        registry.register(_Metrics(observer))
        try:
            server, _ = start_http_server(port, registry=registry)
        except OSError as e:
            raise InvalidOptionError(
                f"Invalid value '{port}' for option 'metrics.reporter.prom.port': metrics cannot be served there "
                f"({e.strerror}). Choose another port, or '0' for a free one."
            ) from e
        _served[id(observer)] = server.server_port
    return _served[id(observer)]
