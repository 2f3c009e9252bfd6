"""The metrics as OpenTelemetry's, through its API: what becomes of them is for the program's SDK to say.

Names are Flink's with ``kafka_sql.`` before them; attributes are Prometheus' labels. Without the library, or without an
SDK that reads them, nothing is measured.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from kafka_sql.observability.listener import Observer
from kafka_sql.observability.metric_definitions import JOBS, PARTITIONS, SOURCES, all_metrics

METER: Final = "kafka_sql"
_measured: weakref.WeakSet[Observer] = weakref.WeakSet()


def register_gauges(observer: Observer) -> bool:
    """Give an observer's metrics to the process's meter provider; False where OpenTelemetry's API is not installed.

    A second call for the same observer changes nothing.
    """
    try:
        from opentelemetry import metrics
    except ImportError:
        return False
    if observer in _measured:
        return True
    _measured.add(observer)
    meter = metrics.get_meter(METER)
    for name, (text, _) in {**JOBS, **SOURCES, **PARTITIONS}.items():
        callback: Callable[[Any], Iterable[Any]] = partial(_observations, observer, name)
        meter.create_observable_gauge(f"kafka_sql.{name}", callbacks=[callback], description=text)
    return True


def _observations(observer: Observer, name: str, _: Any) -> Iterable[Any]:
    from opentelemetry.metrics import Observation

    for figure in all_metrics(observer.jobs(), time.time_ns() // 1_000_000):
        if figure.name == name:
            for labels, value in figure.values:
                yield Observation(value, dict(zip(figure.labels, labels, strict=True)))
