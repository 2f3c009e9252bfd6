"""Test how sessions are distinguished."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from kafka_sql.spark.context import is_pipeline


def test_only_the_files_of_a_pipeline_run_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.pipelines.graph_element_registry import graph_element_registration_context

    registry: Any = object()
    assert not is_pipeline()
    with graph_element_registration_context(registry):
        assert is_pipeline()
    assert not is_pipeline()
    monkeypatch.delitem(sys.modules, "pyspark.pipelines.graph_element_registry")
    assert not is_pipeline()
