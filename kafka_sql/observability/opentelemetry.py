"""Report the metrics through OpenTelemetry's API. The application's SDK decides what happens to them.

Names are Flink's with the prefix ``kafka_sql.``; attributes are the labels of the Prometheus metrics. Without the
library, or without an SDK that reads the gauges, nothing is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafka_sql.observability.metric_definitions import (
    CLIENTS,
    JOBS,
    PARTITIONS,
    SOURCES,
    all_metrics,
)

if TYPE_CHECKING:
    from kafka_sql.observability.listener import Observer

METER: Final = "kafka_sql"


def register_gauges(observer: Observer) -> None:
    """Register gauges with the process's meter provider, if OpenTelemetry's API is installed."""
    try:
        from opentelemetry import metrics
    except ImportError:
        return
    meter = metrics.get_meter(METER)
    for name, (description, _) in {**JOBS, **SOURCES, **PARTITIONS, **CLIENTS}.items():
        callback: Callable[[Any], Iterable[Any]] = partial(_observations, observer, name)
        meter.create_observable_gauge(f"kafka_sql.{name}", callbacks=[callback], description=description)


def _observations(observer: Observer, name: str, _: Any) -> Iterable[Any]:
    from opentelemetry.metrics import Observation

    for metric in all_metrics(observer.jobs(), time.time_ns() // 1_000_000):
        if metric.name == name:
            for labels, value in metric.values:
                yield Observation(value, dict(zip(metric.labels, labels, strict=True)))
