"""The wheel has all files that an installation needs, and no others."""

from __future__ import annotations

import configparser
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from tests.documents import ROOT

pytestmark = pytest.mark.large  # builds the wheel

PACKAGES = ("kafka_sql", "pyspark_kafka_sql", "dbt_kafka_sql")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.iterdir()
    assert path.name.startswith("kafka_sql-")
    assert path.name.endswith("-py3-none-any.whl")
    return zipfile.ZipFile(path)


def metadata_file(wheel: zipfile.ZipFile, name: str) -> str:
    (path,) = [n for n in wheel.namelist() if n.endswith(f".dist-info/{name}")]
    return wheel.read(path).decode()


def test_all_files_of_the_packages_and_no_others(wheel: zipfile.ZipFile) -> None:
    generated = ("__pycache__", ".nbi", ".nbc", ".pyc")
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and not any(part in path.as_posix() for part in generated)
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == expected


def test_data_that_the_packages_need(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert "kafka_sql/embedded/ivysettings.xml" in names
    assert any(name.startswith("kafka_sql/embedded/kafka-") and name.endswith(".lock") for name in names)
    assert "kafka_sql/spark/kafka-sql.jar" in names  # the compiled Java sources
    assert any(name.startswith("dbt_kafka_sql/") and Path(name).suffix == ".sql" for name in names)


def test_spark_finds_the_format_by_its_name(wheel: zipfile.ZipFile) -> None:
    # Spark imports each module whose name begins with pyspark_ and takes its DefaultSource
    assert "pyspark_kafka_sql/__init__.py" in wheel.namelist()
    assert b"DefaultSource" in wheel.read("pyspark_kafka_sql/__init__.py")


def test_commands(wheel: zipfile.ZipFile) -> None:
    points = configparser.ConfigParser()
    points.read_string(metadata_file(wheel, "entry_points.txt"))
    assert dict(points["console_scripts"]) == {
        "kafka-sql": "kafka_sql.cli.__main__:main",
        "kafka-sql-broker": "kafka_sql.embedded.__main__:main",
        "kafka-sql-extension": "kafka_sql.extension.__main__:main",
        "kafka-sql-python": "kafka_sql.runtime.worker_main:main",
    }


def test_metadata(wheel: zipfile.ZipFile) -> None:
    metadata = message_from_string(metadata_file(wheel, "METADATA"))
    assert metadata["Name"] == "kafka-sql"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.10"
    assert set(metadata.get_all("Provides-Extra", [])) >= {
        "dbt",
        "pipelines",
        "opentelemetry",
        "containers",
        "docs",
        "dev",
    }
    assert "Apache License" in metadata_file(wheel, "licenses/LICENSE")
    # the default installation is the fast one: it includes all that reading and writing needs
    required = {
        line.split(">")[0].split("<")[0].strip() for line in metadata.get_all("Requires-Dist", []) if ";" not in line
    }
    assert {"pyspark", "pyarrow", "confluent-kafka", "numba", "sqlglot"} <= required
