"""Test that the Grafana dashboard shows exactly the existing metrics."""

from __future__ import annotations

import json
import re
import urllib.request
from typing import Any

from kafka_sql.observability.metric_definitions import (
    CLIENT,
    CLIENTS,
    JOB,
    JOBS,
    PARTITION,
    PARTITIONS,
    PREFIX,
    SOURCE,
    SOURCES,
)
from kafka_sql.observability.prometheus import serve_metrics
from tests.unit.observability.fake_observer import FakeObserver
from tools.dashboard import PATH, build_dashboard, to_json


def test_the_generated_file_is_up_to_date() -> None:
    assert PATH.read_text() == to_json(build_dashboard()), "run: make dashboard"


def test_the_dashboard_shows_exactly_the_served_metrics() -> None:
    dashboard = json.loads(PATH.read_text())
    observer: Any = FakeObserver()
    with urllib.request.urlopen(f"http://127.0.0.1:{serve_metrics(observer, 0)}/metrics") as response:
        served = set(re.findall(r"^# TYPE (\w+) gauge$", response.read().decode(), re.MULTILINE))
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert {expression.partition("{")[0] for expression in expressions} == served
    (variable,) = [v["query"] for v in dashboard["templating"]["list"] if v["type"] == "query"]
    assert set(re.findall(r"kafka_sql_\w+", variable)) <= served


def test_legends_use_existing_labels() -> None:
    scopes = ((JOBS, JOB), (SOURCES, SOURCE), (PARTITIONS, PARTITION), (CLIENTS, CLIENT))
    labels = {name: scope for metrics, scope in scopes for name in metrics}
    for panel in json.loads(PATH.read_text())["panels"]:
        (target,) = panel["targets"]
        metric, selector = target["expr"].removeprefix(PREFIX).split("{")
        legend_labels = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        selector_labels = set(re.findall(r"(\w+)=~", selector))
        assert legend_labels | selector_labels <= set(labels[metric]), panel["title"]


def test_panels_do_not_overlap() -> None:
    positions = [tuple(panel["gridPos"].values()) for panel in json.loads(PATH.read_text())["panels"]]
    assert len(positions) == len(set(positions))
