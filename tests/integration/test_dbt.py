"""The dbt project in ``ddl_examples/dbt``, run twice by dbt with a real broker, with new records in between."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from kafka_sql.runtime.worker_main import installed_command
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1200)]  # each command starts Spark with a Hive metastore

ROOT = Path(__file__).parents[2]
FIRST = (
    b'{"order_id": 1, "country": "de", "price": 9.99, "quantity": 3}',
    b'{"order_id": 2, "country": "fr", "price": 60.00, "quantity": 2}',
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of the example, with the dbt package at the path in its packages.yml."""
    shutil.copytree(ROOT / "dbt_kafka_sql", tmp_path / "dbt_kafka_sql", ignore=shutil.ignore_patterns("__pycache__"))
    files = shutil.ignore_patterns(*(ROOT / "ddl_examples/dbt/.gitignore").read_text().replace("/", "").split())
    shutil.copytree(ROOT / "ddl_examples/dbt", tmp_path / "ddl_examples/dbt", ignore=files)
    sources = tmp_path / "ddl_examples/dbt/models/sources.yml"
    sources.write_text(sources.read_text().replace("# properties.sasl.password", "properties.sasl.password"))
    return tmp_path / "ddl_examples/dbt"


def dbt(project: Path, bootstrap: str, *arguments: str) -> str:
    """Run a dbt command in the project and return its output."""
    command = Path(sys.executable).with_name("dbt")
    assert command.exists(), "dbt is not installed in this environment: pip install 'kafka-sql[dbt]'"
    environment = {
        **os.environ,
        "KAFKA_BOOTSTRAP": bootstrap,
        "KAFKA_PASSWORD": "planted-secret",
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": str(installed_command()),
    }
    done = subprocess.run(
        [command, "--no-use-colors", *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "planted-secret" not in done.stdout + done.stderr
    return done.stdout


def table(project: Path, name: str, columns: Sequence[str]) -> list[tuple[object, ...]]:
    """Read the rows of a parquet table without Spark."""
    rows = ds.dataset(project / f"spark-warehouse/shop.db/{name}").to_table(columns=list(columns)).to_pylist()
    return sorted(tuple(str(row[c]) for c in columns) for row in rows)


def values(topics: Topics, topic: str, expected: int) -> list[dict[str, object]]:
    """Return the records of a topic in order."""
    return [json.loads(m.value() or b"") for m in topics.consume(topic, expected)]


def test_one_run(project: Path, topics: Topics) -> None:
    first_run(project, topics)


@pytest.mark.long
def test_two_runs_with_records_in_between(project: Path, topics: Topics) -> None:
    first_run(project, topics)
    topics.produce("orders", b'{"order_id": 4, "country": "us", "price": 100.00, "quantity": 1}')
    topics.produce("orders", b'{"order_id": 5, "country": "us", "price": 0.50, "quantity": 1}', partition=1)
    second = dbt(project, topics.bootstrap, "build")
    assert "Done. PASS=11 WARN=0 ERROR=0 SKIP=0" in second

    log = table(project, "order_log", ("partition", "offset", "order_id", "country", "total"))
    assert log == [
        ("0", "0", "1", "DE", "29.97"),
        ("0", "1", "2", "FR", "120.00"),
        ("0", "2", "4", "US", "100.00"),
        ("1", "0", "3", "DE", "3.00"),
        ("1", "1", "5", "US", "0.50"),
    ]
    assert values(topics, "large-orders", 2) == [{"order_id": 2, "total": 120.0}, {"order_id": 4, "total": 100.0}]
    written = values(topics, "revenue", 5)
    by_run = [sorted((str(r["country"]), r["revenue"]) for r in run) for run in (written[:2], written[2:])]
    assert by_run == [[("DE", 32.97), ("FR", 120.0)], [("DE", 32.97), ("FR", 120.0), ("US", 100.5)]]


@pytest.mark.long
def test_documentation(project: Path, topics: Topics) -> None:
    for topic in ("orders", "revenue", "large-orders"):
        topics.create_named(topic)
    topics.produce("orders", *FIRST)
    for command in (["deps"], ["build"], ["docs", "generate"]):
        dbt(project, topics.bootstrap, *command)
    catalog = json.loads((project / "target/catalog.json").read_text())
    assert set(catalog["nodes"]) >= {"model.shop.order_log", "model.shop.revenue", "model.shop.stg_orders"}


def first_run(project: Path, topics: Topics) -> None:
    """Build the project with three orders, and check the results."""
    topics.create_named("orders", 2)
    topics.create_named("revenue")
    topics.create_named("large-orders")
    topics.produce("orders", *FIRST)
    topics.produce("orders", b'{"order_id": 3, "country": "de", "price": 1.50, "quantity": 2}', partition=1)
    dbt(project, topics.bootstrap, "deps")

    first = dbt(project, topics.bootstrap, "build")
    assert "Done. PASS=11 WARN=0 ERROR=0 SKIP=0" in first
    assert table(project, "revenue", ("country", "revenue", "orders")) == [("DE", "32.97", "2"), ("FR", "120.00", "1")]
    assert values(topics, "large-orders", 1) == [{"order_id": 2, "total": 120.0}]
    files = [path for path in project.rglob("*") if path.is_file()]
    assert any(b"${env:KAFKA_PASSWORD}" in path.read_bytes() for path in files)
    assert [path for path in files if b"planted-secret" in path.read_bytes()] == []
