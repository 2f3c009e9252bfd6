"""Kafka tables in sessions whose session catalog is not Spark's own: Delta's, Iceberg's, or one that only delegates."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import kafka_sql
from tests.changelog_histories import (
    PARTITIONS,
    Change,
    Key,
    Row,
    decimal,
    expected_values,
    final_content,
    interleave,
    make_history,
    to_debezium,
    write,
)
from tests.lakehouse import LAKEHOUSES, check_kafka_tables
from tests.topics import Topics

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
DELEGATING_CATALOG = """
package tests;
public class DelegatingCatalog extends org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension {}
"""


@pytest.mark.parametrize("has_streams", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_session_catalog_that_delegates(
    spark: SparkSession, topics: Topics, tmp_path: Path, has_streams: bool
) -> None:
    add_class("tests.DelegatingCatalog", DELEGATING_CATALOG, spark, tmp_path)
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.spark_catalog", "tests.DelegatingCatalog")
    check_kafka_tables(kafka_sql.enable(session), topics, "parquet", tmp_path, has_streams)


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
        env=environment(pyspark_4_1),
        capture_output=True,
        text=True,
        check=False,
        timeout=700,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("passed with Spark 4.1.")


def environment(pyspark: Path) -> dict[str, str]:
    """Return the environment of a program that uses another PySpark."""
    return {**os.environ, "PYTHONPATH": f"{pyspark}:{ROOT}", "PYSPARK_PYTHON": sys.executable}


KILLS = 6
CHANGES_PER_KILL = 6  # of each history
HISTORIES = 30
DRIVER_TABLES = ("merged", "appended", "history", "joined", "sizes")


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("lakehouse", LAKEHOUSES)
def test_kills_of_drivers(lakehouse: str, pyspark_4_1: Path, topics: Topics, tmp_path: Path) -> None:
    rng = random.Random(lakehouse)
    by_history = [make_history(number, CHANGES_PER_KILL * KILLS) for number in range(HISTORIES)]
    parts = [slice(CHANGES_PER_KILL * kill, CHANGES_PER_KILL * (kill + 1)) for kill in range(KILLS)]
    cdc, upserts = topics.create(PARTITIONS), topics.create(PARTITIONS)
    program = [sys.executable, "-m", "tests.lakehouse_driver", lakehouse, topics.bootstrap, str(tmp_path), cdc]
    for part in parts:
        with (
            (tmp_path / "driver.err").open("ab") as errors,
            subprocess.Popen(
                program,
                cwd=tmp_path,
                env=environment(pyspark_4_1),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            ) as process,
        ):
            assert process.stdout is not None
            started = any(line == "started\n" for line in process.stdout)
            assert started, (tmp_path / "driver.err").read_text()[-3000:]
            offsets = tmp_path / "checkpoints" / f"insert-into_default.{rng.choice(DRIVER_TABLES)}" / "offsets"
            planned = count_batches(offsets)
            write(topics, cdc, upserts, interleave(by_history, part))
            while process.poll() is None and count_batches(offsets) == planned:
                time.sleep(0.1)
            time.sleep(rng.uniform(0, 8))  # at a random point of a micro-batch
            assert process.poll() is None, (tmp_path / "driver.err").read_text()[-3000:]
            os.killpg(process.pid, signal.SIGKILL)
    done = subprocess.run(
        [*program, "finish"], cwd=tmp_path, env=environment(pyspark_4_1), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(done.stdout.splitlines()[-1])
    changes = [change for history in by_history for change in history]
    content = [row for history in by_history for row in final_content(history).values()]
    assert sorted(result["merged"]) == sorted([row["h"], row["k"], row["g"], str(decimal(row))] for row in content)
    assert sorted(map(tuple, result["joined"]), key=str) == sorted(expected_joins(content), key=str)
    assert sorted(map(tuple, result["sizes"])) == sorted(expected_sizes(content))
    assert sorted(result["appended"]) == sorted(to_debezium(change).decode() for change in changes)
    written = [change for part in parts for change in interleave(by_history, part)]
    rows = [(h, k, row["g"], str(decimal(row)), start, end) for (h, k), row, start, end in row_versions(written)]
    assert sorted(map(tuple, result["history"]), key=str) == sorted(rows, key=str)


def expected_joins(content: list[Row]) -> list[tuple[Any, ...]]:
    """Return each row with the columns of the row whose ``k`` is its ``g``, if there is one."""
    by_key = {(row["h"], row["k"]): row for row in content}
    matches = [(row, by_key.get((row["h"], row["g"]))) for row in content]
    return [
        (row["h"], row["k"], *((None, "None") if match is None else (match["g"], str(decimal(match)))))
        for row, match in matches
    ]


def expected_sizes(content: list[Row]) -> list[tuple[int, int, int]]:
    """Return how many groups there are of each size."""
    groups = Counter((row["h"], row["g"]) for row in content)
    return [(h, n, m) for (h, n), m in Counter((h, n) for (h, _), n in groups.items()).items()]


def count_batches(offsets: Path) -> int:
    return len([*offsets.glob("[0-9]*")])


def row_versions(changes: list[Change]) -> list[tuple[Key, Row, int, int | None]]:
    """Return each version of each row, with the offsets of the changes that began and ended it."""
    versions: list[tuple[Key, Row, int, int | None]] = []
    for partition in range(PARTITIONS):
        current: dict[Key, tuple[Row, int]] = {}
        own = [change for change in changes if sum(change[0]) % PARTITIONS == partition]
        for offset, (key, _, new) in enumerate(own):
            if key in current and new != current[key][0]:
                versions.append((key, *current.pop(key), offset))
            if new is not None:
                current.setdefault(key, (new, offset))
        versions += [(key, *version, None) for key, version in current.items()]
    return versions


@pytest.mark.long  # starts Spark applications with three more JVMs
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("lakehouse", LAKEHOUSES)
def test_changelogs_with_executors_in_other_processes(
    lakehouse: str, pyspark_4_1: Path, topics: Topics, tmp_path: Path
) -> None:
    by_history = [make_history(number, 60) for number in range(20)]
    cdc, upserts = topics.create(PARTITIONS), topics.create(PARTITIONS)
    for name in ("linear", "grouped", "normalized"):
        topics.create_named(f"{cdc}-{name}", 2)
    program = [sys.executable, "-m", "tests.changelog_cluster", lakehouse, topics.bootstrap, str(tmp_path)]
    for end in (30, 60):  # the second run resumes with the state of the first one
        write(topics, cdc, upserts, interleave(by_history, slice(end - 30, end)))
        done = subprocess.run(
            [*program, cdc, upserts],
            cwd=tmp_path,
            env=environment(pyspark_4_1),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["executors"] == 2
        content = {key: row for history in by_history for key, row in final_content(history[:end]).items()}
        groups = {(*row[:3], *map(as_text, row[3:6]), row[6]) for row in expected_values(content, 1)}
        rows = {name: {tuple(row) for row in values} for name, values in result["rows"].items()}
        assert rows == {
            "linear": {group[:4] for group in groups},
            "grouped": groups,
            "normalized": groups,
            "merged": {
                (f"{row['h']}-{row['k']}", row["h"], row["k"], row["g"], as_text(decimal(row)))
                for row in content.values()
            },
            "merged_groups": groups,
        }
        assert {name: len(values) for name, values in result["rows"].items()} == {
            name: len(values) for name, values in rows.items()
        }


def as_text(value: Decimal | None) -> str | None:
    return None if value is None else str(value)
