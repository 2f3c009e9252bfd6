"""Serve the metrics to Prometheus on a port, under Flink's names with the prefix ``kafka_sql_``."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kafka_sql.errors import InvalidOptionError
from kafka_sql.observability.metric_definitions import PREFIX, JobMetricsProvider, all_metrics


class _MetricsCollector(Collector):
    """Collects the current metrics of a provider for each scrape."""

    def __init__(self, provider: JobMetricsProvider) -> None:
        self._provider = provider

    def collect(self) -> Iterator[Metric]:
        for metric in all_metrics(self._provider.jobs(), time.time_ns() // 1_000_000):
            family = GaugeMetricFamily(PREFIX + metric.name, metric.description, labels=metric.labels)
            for labels, value in metric.values:
                family.add_metric(labels, value)
            yield family


_ports: dict[int, int] = {}  # by the provider's identity, for the lifetime of the process


def serve_metrics(provider: JobMetricsProvider, port: int) -> int:
    """Serve a provider's metrics, and return the port. Repeated calls for a provider return the first call's port.

    Raises:
        InvalidOptionError: the port is in use, or requires privileges.
    """
    if id(provider) not in _ports:
        registry = CollectorRegistry()
        registry.register(_MetricsCollector(provider))
        try:
            server, _ = start_http_server(port, registry=registry)
        except OSError as e:
            raise InvalidOptionError(
                f"Invalid value '{port}' for option 'metrics.reporter.prom.port': the port is not available "
                f"({e.strerror}). Choose another port, or '0' for a free one.",
                option="metrics.reporter.prom.port",
            ) from e
        _ports[id(provider)] = server.server_port
    return _ports[id(provider)]
