"""Fixtures: one Kafka and one Spark for all integration tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from kafka_sql.cli import class_archive
from kafka_sql.embedded import cluster
from tests.broker import Broker, choice_from_environment, start_broker
from tests.hypothesis_examples import register_profiles
from tests.topics import Topics
from tools import quick_java
from tools.build_jar import build_jar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_sql.embedded import EmbeddedRegistry


_UNIT_TESTS: Final = Path(__file__).parent / "tests" / "unit"

os.environ.setdefault(class_archive.VARIABLE, quick_java.spark_options())
cluster.FAST_JVM = quick_java.kafka_options()

register_profiles()


def pytest_configure(config: pytest.Config) -> None:
    """Compile the Java sources if they have changed.

    Ignore sockets that PySpark 4.1 leaves to the garbage collector; later versions close them.
    """
    build_jar()
    if version("pyspark").startswith("4.1."):
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.hookimpl(tryfirst=True)  # before the marks are evaluated
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark variants as long, and set the order of files in which several processes finish early, and together.

    Unit tests of kernels are first: they compile each loop once, and the processes of Spark read it from the cache
    instead of each compiling it. Integration tests are next, because their files take longest. The many short files of
    the other unit tests are last: no process has to wait long for another one.
    """
    _mark_variants(items)
    items.sort(key=lambda item: 1 if item.get_closest_marker("integration") else 0 if _uses_kernels(item.path) else 2)


def _mark_variants(items: list[pytest.Item]) -> None:
    """Mark the variants of a test with ``sample(n)`` as long, except n of them."""
    variants: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sample") and not item.get_closest_marker("long"):
            variants.setdefault((item.path, item.nodeid.partition("[")[0]), []).append(item)
    for group in variants.values():
        mark = group[0].get_closest_marker("sample")
        count = mark.args[0] if mark is not None else 0
        kept = {i * len(group) // count for i in range(count)}
        for i, item in enumerate(group):
            if i not in kept:
                item.add_marker(pytest.mark.long)


def _uses_kernels(path: Path) -> bool:
    return any(path.is_relative_to(_UNIT_TESTS / package) for package in ("formats", "kafka"))


def pytest_report_header() -> str:
    """Report which Kafka the integration tests use."""
    return f"kafka: {choice_from_environment()}"


@pytest.fixture
def group_umask() -> Iterator[None]:
    """The usual umask of Linux distributions with a group per user: new files can be written by the group."""
    before = os.umask(0o002)
    yield
    os.umask(before)


@pytest.fixture(scope="session")
def kafka() -> Iterator[Broker]:
    """A broker for the whole run."""
    with start_broker(choice_from_environment()) as server:
        yield server


@pytest.fixture(scope="session")
def registry() -> Iterator[EmbeddedRegistry]:
    """A schema registry for the whole run."""
    from kafka_sql.embedded import EmbeddedRegistry

    with EmbeddedRegistry() as server:
        yield server


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark session with Flink's statements, for the whole run."""
    from pyspark.sql import SparkSession

    import kafka_sql
    from kafka_sql.runtime.worker_main import installed_command
    from tests.java_names import keep_java_names

    keep_java_names()
    # for the data source that Spark looks up before this package runs in the session
    os.environ["PYSPARK_PYTHON"] = installed_command() or sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield kafka_sql.enable(session)
    session.stop()


@pytest.fixture
def sql(spark: SparkSession) -> Iterator[Callable[..., Any]]:
    """Return ``spark.sql``; reset the session's settings and tables afterwards."""
    before = {row.tableName for row in spark.sql("SHOW TABLES").collect()}
    yield spark.sql
    for query in spark.streams.active:
        query.stop()
    for key in (
        "execution.runtime-mode",
        "execution.latency-mode",
        "execution.checkpointing.dir",
        "execution.checkpointing.interval",
        "pipeline.name",
        "metrics.reporter.prom.port",
        "table.local-time-zone",
    ):
        spark.sql(f"RESET '{key}'")
    for row in spark.sql("SHOW TABLES").collect():
        if row.tableName not in before:
            spark.catalog.dropTempView(row.tableName)
            spark.sql(f"DROP TEMPORARY TABLE IF EXISTS `{row.tableName}`")
            spark.sql(f"DROP TABLE IF EXISTS `{row.tableName}`")


@pytest.fixture
def topics(kafka: Broker) -> Topics:
    """Topics on the broker of the run."""
    return Topics(kafka.bootstrap_servers)
