"""The documented archive for spark-submit is small, and has everything except PySpark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pyspark
import pytest

from tests.documents import ROOT
from tools.lock import CLUSTER

GUIDE = (ROOT / "docs" / "deployment.md").read_text()
MAXIMUM_SIZE = 190_000_000
# imports what a driver and a worker need, and runs the only other Python process
PROGRAM = """
import kafka_sql
import pyspark_kafka_sql
from kafka_sql.formats.protobuf_confluent.schema_descriptors import compile_schema
kafka_sql.enable
compile_schema('syntax = "proto3"; message M { int32 a = 1; }')
print(kafka_sql.__file__)
"""


def documented_commands() -> list[str]:
    """Return the commands that build the archive."""
    section = re.search(r"^### An archive$(.*?)^## ", GUIDE, re.MULTILINE | re.DOTALL)
    assert section is not None
    block = re.search(r"^```console\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)
    assert block is not None
    return re.findall(r"^\$ (.*)$", block[1], re.MULTILINE)


def test_the_archive_is_built_from_the_lock_without_pyspark() -> None:
    install, *_, pack = documented_commands()
    assert f"--require-hashes -r {CLUSTER.name}" in install
    assert pack.startswith("tar -czf kafka_sql.tar.gz")


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_documented_archive(tmp_path: Path) -> None:
    venv.create(tmp_path / "pip", with_pip=True)
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "dist")]
    subprocess.run(build, cwd=ROOT, check=True)
    (tmp_path / CLUSTER.name).write_bytes(CLUSTER.read_bytes())
    path = f"{tmp_path}/pip/bin{os.pathsep}{os.environ['PATH']}"
    for command in documented_commands():
        subprocess.run(["bash", "-c", command], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)
    archive = tmp_path / "kafka_sql.tar.gz"
    assert archive.stat().st_size < MAXIMUM_SIZE
    executor = tmp_path / "executor"
    (executor / "kafka_sql").mkdir(parents=True)
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(executor / "kafka_sql")], check=True)
    base_python = getattr(sys, "_base_executable", sys.executable)  # without the packages of the virtual environment
    zips = sorted(Path(pyspark.__path__[0], "python/lib").glob("*.zip"))  # Spark adds these
    environment = {"PYTHONPATH": os.pathsep.join(["kafka_sql", *map(str, zips)])}
    command = [base_python, "-c", PROGRAM]
    done = subprocess.run(command, cwd=executor, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(executor / "kafka_sql/kafka_sql/__init__.py"), done.stderr
