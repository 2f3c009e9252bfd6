"""Test the metrics through OpenTelemetry's API, read by its SDK."""

from __future__ import annotations

import builtins
from typing import Any

import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from kafka_sql.observability.metric_definitions import CLIENTS, JOBS, PARTITIONS, SOURCES
from kafka_sql.observability.opentelemetry import register_gauges
from tests.unit.observability.fake_observer import FakeObserver


def test_metrics_and_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = InMemoryMetricReader()
    # the process's provider can be set only once, and another test may have set it
    monkeypatch.setattr(metrics, "get_meter", MeterProvider([reader]).get_meter)
    observer: Any = FakeObserver()
    register_gauges(observer)
    data = reader.get_metrics_data()
    assert data is not None
    (scope,) = data.resource_metrics[0].scope_metrics
    assert scope.scope.name == "kafka_sql"
    # names are case-insensitive in OpenTelemetry
    values = {m.name.lower(): [(dict(p.attributes), p.value) for p in m.data.data_points] for m in scope.metrics}
    job = {"job_id": "id-1", "job_name": "copy"}
    partition = {**job, "table": "default.src", "topic": "a", "partition": "0"}
    assert values["kafka_sql.numrecordsin"] == [(job, 5), ({"job_id": "id-2", "job_name": ""}, 0)]
    assert values["kafka_sql.pendingrecords"] == [({**job, "table": "default.src"}, 2)]
    assert values["kafka_sql.records_lag"] == [(partition, 2)]
    read_directly = {**job, "table": "default.src", "client": "direct"}
    assert values["kafka_sql.numrecordsinbyclient"][0] == (read_directly, 4)
    instruments = {f"kafka_sql.{name}".lower() for name in {**JOBS, **SOURCES, **PARTITIONS, **CLIENTS}}
    assert set(values) <= instruments
    assert {m.description for m in scope.metrics} <= {
        text for text, _ in {**JOBS, **SOURCES, **PARTITIONS, **CLIENTS}.values()
    }


def test_without_the_library_nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def import_without_opentelemetry(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", import_without_opentelemetry)
    monkeypatch.setattr(metrics, "get_meter", None)
    observer: Any = FakeObserver()
    register_gauges(observer)
