"""ddl_examples/quickstart.ipynb: run in a kernel, and its code in the shared session of the tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest

from kafka_sql import embedded
from kafka_sql.runtime.worker_main import installed_command
from tests.broker import Broker
from tests.topics import Topics

pytestmark = pytest.mark.integration
NOTEBOOK = Path(__file__).parents[2] / "ddl_examples" / "quickstart.ipynb"


def test_the_notebook_is_stored_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.long
@pytest.mark.usefixtures("sql")
def test_the_code_runs(spark: Any, kafka: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    class Started:
        """The broker of the tests, which must not be stopped."""

        bootstrap_servers = kafka.bootstrap_servers

        def start(self) -> Started:
            return self

        def stop(self) -> None:
            """Do nothing."""

    monkeypatch.setattr(embedded, "EmbeddedKafka", Started)
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    for topic in ("orders", "large-orders"):
        Topics(kafka.bootstrap_servers).delete(topic)
    names: dict[str, Any] = {}
    shuffle_partitions = spark.conf.get("spark.sql.shuffle.partitions")
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, f"{NOTEBOOK.name}:{cell.id}", "exec"), names)
    spark.conf.set("spark.sql.shuffle.partitions", shuffle_partitions)
    spark.conf.unset("spark.sql.repl.eagerEval.enabled")
    assert names["read"] == 10000
    (row,) = spark.sql("SELECT count(*), min(price * quantity) FROM large_orders").collect()
    assert row[0] > 0
    assert row[1] > 30


@pytest.mark.long  # starts a kernel, Spark and Kafka
def test_the_notebook_runs_in_a_kernel(tmp_path: Path) -> None:
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    environment = {**os.environ, "PYSPARK_PYTHON": str(installed_command()), "PYTHONPATH": str(NOTEBOOK.parents[1])}
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute(env=environment)
    outputs = {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
    assert "<table" in outputs["insert"][-1]["data"]["text/html"]
    assert "10,000 of 10,000 records read" in str(outputs["progress"])
    assert "<table" in outputs["result"][-1]["data"]["text/html"]
