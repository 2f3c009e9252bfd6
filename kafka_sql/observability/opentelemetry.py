"""Report the metrics through OpenTelemetry's API. The application's SDK decides what happens to them.

Names are Flink's with the prefix ``kafka_sql.``; attributes are the labels of the Prometheus metrics. Without the
library, or without an SDK that reads the gauges, nothing is measured.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from kafka_sql.observability.metric_definitions import (
    CLIENTS,
    JOBS,
    PARTITIONS,
    SOURCES,
    JobMetricsProvider,
    all_metrics,
)

METER: Final = "kafka_sql"
_registered: weakref.WeakSet[JobMetricsProvider] = weakref.WeakSet()


def register_gauges(provider: JobMetricsProvider) -> bool:
    """Register gauges with the process's meter provider, once per metrics provider.

    Returns:
        whether OpenTelemetry's API is installed.
    """
    try:
        from opentelemetry import metrics
    except ImportError:
        return False
    if provider in _registered:
        return True
    _registered.add(provider)
    meter = metrics.get_meter(METER)
    for name, (description, _) in {**JOBS, **SOURCES, **PARTITIONS, **CLIENTS}.items():
        callback: Callable[[Any], Iterable[Any]] = partial(_observations, provider, name)
        meter.create_observable_gauge(f"kafka_sql.{name}", callbacks=[callback], description=description)
    return True


def _observations(provider: JobMetricsProvider, name: str, _: Any) -> Iterable[Any]:
    from opentelemetry.metrics import Observation

    for metric in all_metrics(provider.jobs(), time.time_ns() // 1_000_000):
        if metric.name == name:
            for labels, value in metric.values:
                yield Observation(value, dict(zip(metric.labels, labels, strict=True)))
