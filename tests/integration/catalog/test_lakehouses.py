"""Kafka tables in sessions whose session catalog is not Spark's own: Delta's, Iceberg's, or one that only delegates."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import kafka_sql
from tests.lakehouse import LAKEHOUSES, check_kafka_tables
from tests.topics import Topics

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
DELEGATING_CATALOG = """
package tests;
public class DelegatingCatalog extends org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension {}
"""


def test_a_session_catalog_that_delegates(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    add_class("tests.DelegatingCatalog", DELEGATING_CATALOG, spark, tmp_path)
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.spark_catalog", "tests.DelegatingCatalog")
    check_kafka_tables(kafka_sql.enable(session), topics, "parquet", tmp_path)


def add_class(name: str, source: str, spark: SparkSession, folder: Path) -> None:
    """Compile a Java class and add it to the driver, as ``--jars`` does."""
    jvm = spark._jvm
    loader = jvm.Thread.currentThread().getContextClassLoader()
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    path = Path(folder, *name.split(".")).with_suffix(".class")
    path.parent.mkdir()
    path.write_bytes(compiler.getBytecodes()[name])
    loader.addURL(jvm.java.io.File(str(folder)).toURI().toURL())


@pytest.fixture(scope="session")
def pyspark_4_1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install PySpark 4.1, the latest that Delta and Iceberg both support; return its folder."""
    folder = tmp_path_factory.mktemp("pyspark")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), "pyspark==4.1.*"], check=True
    )
    return folder


@pytest.mark.long
@pytest.mark.timeout(900)  # downloads PySpark and a lakehouse
@pytest.mark.parametrize("lakehouse", LAKEHOUSES)
def test_a_lakehouse(lakehouse: str, pyspark_4_1: Path, topics: Topics, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.lakehouse", lakehouse, topics.bootstrap, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{pyspark_4_1}:{ROOT}", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
        timeout=700,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("passed with Spark 4.1.")
