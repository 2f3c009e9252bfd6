"""The pipeline in ``ddl_examples/pipelines``, run twice by ``spark-pipelines`` with a real broker."""

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

from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]  # each run starts a Spark Connect server

ROOT = Path(__file__).parents[2]


COUNTRIES = '''
"""A table of a Python function that reads the topic."""

from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()


@dp.table
def ordered_countries():
    return spark.readStream.table("orders").select("country")
'''
ORDERS, LARGE = "pipelines-orders", "pipelines-large-orders"  # other tests use the topic names of the example


@pytest.fixture
def project(tmp_path: Path, topics: Topics) -> Path:
    """Return a copy of the example that uses the broker, topics and folder of the test."""
    shutil.copytree(ROOT / "ddl_examples/pipelines", tmp_path / "shop")
    (tmp_path / "shop/tables").chmod(0o700)  # a checkout may be group-writable, but a catalog folder must not be
    for name, topic in (("orders", ORDERS), ("large_orders", LARGE)):
        file = tmp_path / f"shop/tables/default.{name}.sql"
        file.write_text(
            file.read_text()
            .replace("localhost:9092", topics.bootstrap)
            .replace(f"'topic' = '{name.replace('_', '-')}'", f"'topic' = '{topic}'")
        )
    (tmp_path / "shop/transformations/ordered_countries.py").write_text(COUNTRIES)
    spec = tmp_path / "shop/spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("/tmp/shop-pipeline", str(tmp_path / "storage")))
    return tmp_path / "shop"


def run(project: Path) -> None:
    """Run ``spark-pipelines run`` in the project."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_TESTING": "1",  # makes PySpark start the Connect server on a free port
    }
    done = subprocess.run(
        [Path(sys.executable).with_name("spark-pipelines"), "--conf", "spark.sql.catalogImplementation=hive", "run"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def table(project: Path, name: str, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Read the rows of a parquet table without Spark."""
    rows = ds.dataset(project / "spark-warehouse" / name).to_table(columns=list(columns)).to_pylist()
    return sorted(tuple(str(row[c]) for c in columns) for row in rows)


@pytest.mark.long
def test_two_runs_with_a_record_in_between(project: Path, topics: Topics) -> None:
    first_run(project, topics)
    topics.produce(ORDERS, b'{"order_id": 4, "country": "us", "price": 100.00, "quantity": 1}')
    run(project)
    assert table(project, "order_log", ("order_id", "country", "total")) == [
        ("1", "DE", "29.97"),
        ("2", "FR", "120.00"),
        ("3", "DE", "3.00"),
        ("4", "US", "100.00"),
    ]
    assert table(project, "ordered_countries", ("country",)) == [("de",), ("de",), ("fr",), ("us",)]
    assert table(project, "revenue", ("country", "revenue")) == [("DE", "32.97"), ("FR", "120.00"), ("US", "100.00")]
    assert [json.loads(m.value() or b"") for m in topics.consume(LARGE, 2)] == [
        {"order_id": 2, "total": 120.0},
        {"order_id": 4, "total": 100.0},
    ]


def first_run(project: Path, topics: Topics) -> None:
    """Run the pipeline with three orders, and check the results."""
    topics.create_named(ORDERS, 2)
    topics.create_named(LARGE)
    topics.produce(
        ORDERS,
        b'{"order_id": 1, "country": "de", "price": 9.99, "quantity": 3}',
        b'{"order_id": 2, "country": "fr", "price": 60.00, "quantity": 2}',
    )
    topics.produce(ORDERS, b'{"order_id": 3, "country": "de", "price": 1.50, "quantity": 2}', partition=1)

    run(project)
    assert table(project, "revenue", ("country", "revenue", "orders")) == [("DE", "32.97", "2"), ("FR", "120.00", "1")]
    assert [json.loads(m.value() or b"") for m in topics.consume(LARGE, 1)] == [{"order_id": 2, "total": 120.0}]
