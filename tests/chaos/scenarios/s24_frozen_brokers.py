"""Freeze each broker at the start, in the middle and near the end of each kind of statement, until it has ended.

The brokers have Kafka's defaults for elections, so that the controller, the coordinators and the leaders on the frozen
broker are replaced only after more than ten seconds.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, product
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

import kafka_sql
from kafka_sql.embedded import EmbeddedKafka, Node
from tests.chaos.clusters import wait_for_replicas
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.kills.spark import KEYS, committed_rows, send

_ELECTIONS: Final = {  # Kafka's defaults
    "broker.session.timeout.ms": 9_000,
    "broker.heartbeat.interval.ms": 2_000,
    "controller.quorum.election.timeout.ms": 1_000,
    "controller.quorum.fetch.timeout.ms": 2_000,
}
_MOMENTS: Final = {"at the start": 0.0, "in the middle": 0.5, "near the end": 0.9}  # fraction of the usual time
_JOB_SECONDS: Final = 300


class Statement(NamedTuple):
    """A kind of statement.

    Attributes:
        connector: of the target; empty for a query.
    """

    connector: str = "kafka"
    is_streaming: bool = False
    is_exactly_once: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether no row may be repeated."""
        return self.is_exactly_once or not self.connector

    def columns_and_options(self, target: str, with_clause: Callable[[str, str, str], str]) -> str:
        """Return the declaration of the target after its name."""
        is_upsert = self.connector == "upsert-kafka"
        key = ", PRIMARY KEY (a) NOT ENFORCED" if is_upsert else ""
        options = "'key.format' = 'json', 'value.format' = 'json'" if is_upsert else "'format' = 'json'"
        if self.is_exactly_once:
            options += f", 'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{target}'"
        return f"(a BIGINT, k BIGINT{key}) {with_clause(self.connector, target, options)}"


_STATEMENTS: Final = {
    "query": Statement(connector=""),
    "INSERT": Statement(),
    "exactly-once INSERT": Statement(is_exactly_once=True),
    "upsert": Statement("upsert-kafka"),
    "streaming INSERT": Statement(is_streaming=True),
    "streaming exactly-once INSERT": Statement(is_streaming=True, is_exactly_once=True),
    "streaming upsert": Statement("upsert-kafka", is_streaming=True),
}


def scenario(config: ScenarioConfig) -> Outcome:
    """Run each kind of statement without a fault, and then while each broker is frozen at each moment."""
    cases, outcome = list(product(_STATEMENTS, _MOMENTS)), Outcome()
    config.rng().shuffle(cases)
    with EmbeddedKafka(3, properties=_ELECTIONS) as kafka, _spark(config.folder) as spark:
        runner, nodes = _Runner(spark, kafka.bootstrap_servers, config), cycle(kafka.nodes)
        for i in range(config.repeat):
            name, moment = cases[i % len(cases)]
            usual_seconds, node = runner.usual_seconds(name), next(nodes)
            target, started = runner.create_target(name), time.monotonic()
            with _freezing(node, usual_seconds * _MOMENTS[moment]):
                numbers = runner.run(name, target)
            seconds = time.monotonic() - started
            result = runner.compare(name, numbers())
            config.log(
                f"{i + 1} {name}, node {node.id} frozen {moment}: {seconds:.1f} s instead of {usual_seconds:.1f}"
            )
            outcome += result
            outcome.stall = max(outcome.stall, seconds - usual_seconds)
            wait_for_replicas(kafka)
    outcome.repetitions = config.repeat
    return outcome


@contextmanager
def _spark(folder: Path) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "2")
    spark = kafka_sql.enable(builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate())
    spark.sparkContext.setLogLevel("OFF")
    yield spark
    spark.stop()


@contextmanager
def _freezing(node: Node, seconds: float) -> Iterator[None]:
    """Freeze a node (SIGSTOP) after some seconds, until the block ends."""
    ended, lock = False, threading.Lock()

    def pause() -> None:
        with lock:
            if not ended:
                node.pause()

    timer = threading.Timer(seconds, pause)
    if seconds:
        timer.start()
    else:
        pause()
    try:
        yield
    finally:
        with lock:
            ended = True
        timer.cancel()
        node.resume()


class _Runner:
    """Runs statements over one source topic, each into a new target topic."""

    def __init__(self, spark: SparkSession, bootstrap: str, config: ScenarioConfig) -> None:
        """Create the source."""
        self._spark, self._bootstrap, self._config = spark, bootstrap, config
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._usual_seconds: dict[str, float] = {}
        self._targets = 0
        self._create_topic("source")
        self._rows = send(bootstrap, "source", 0, max(config.rows_per_fault, KEYS), config.codec)
        options = "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json'"
        group = "'properties.group.id' = 'chaos'"
        self._sql(f"CREATE TABLE src (a BIGINT, k BIGINT) {self._with('kafka', 'source', f'{options}, {group}')}")

    def usual_seconds(self, name: str) -> float:
        """Return the time of a statement without a fault, after one that loads everything it needs."""
        for _ in range(0 if name in self._usual_seconds else 2):
            target, started = self.create_target(name), time.monotonic()
            numbers = self.run(name, target)
            self._usual_seconds[name] = time.monotonic() - started
            assert self.compare(name, numbers()).lost == 0
        return self._usual_seconds[name]

    def create_target(self, name: str) -> str:
        """Create the topic and the table of the same name that a statement writes; nothing for a query."""
        statement = _STATEMENTS[name]
        if not statement.connector:
            return ""
        self._targets += 1
        target = f"target{self._targets}"
        self._create_topic(target)
        self._sql(f"CREATE TABLE {target} {statement.columns_and_options(target, self._with)}")
        return target

    def run(self, name: str, target: str) -> Callable[[], list[int]]:
        """Run a statement. Return a function that returns the numbers that it read or wrote."""
        statement = _STATEMENTS[name]
        if not statement.connector:
            numbers = [row.a for row in self._sql("SELECT a FROM src").collect()]
            return lambda: numbers
        self._sql(f"SET 'execution.runtime-mode' = '{'streaming' if statement.is_streaming else 'batch'}'")
        self._sql(f"SET 'execution.checkpointing.dir' = '{self._config.folder / target}'")
        try:
            self._sql(f"INSERT INTO {target} SELECT a, k FROM src")
            for query in self._spark.streams.active:
                assert query.awaitTermination(_JOB_SECONDS), f"{name} does not end"
        finally:
            self._sql("SET 'execution.runtime-mode' = 'batch'")
        return lambda: [row["a"] for row in committed_rows(self._bootstrap, target)]

    def compare(self, name: str, numbers: list[int]) -> Outcome:
        """Compare the numbers that a statement read or wrote with those of the source."""
        distinct = set(numbers)
        assert distinct <= set(range(self._rows)), "rows that were never sent"
        repeated = len(numbers) - len(distinct) if _STATEMENTS[name].is_exact else 0
        return Outcome(0, self._rows, self._rows - len(distinct), repeated)

    def _create_topic(self, name: str) -> None:
        self._admin.create_topics([NewTopic(name, KEYS, 3)])[name].result(60)

    def _with(self, connector: str, topic: str, options: str) -> str:
        client = self._config.client
        return f"""WITH ('connector' = '{connector}', 'topic' = '{topic}', 'properties.bootstrap.servers' =
            '{self._bootstrap}', '{"scan" if topic == "source" else "sink"}.client' = '{client}', {options})"""

    def _sql(self, text: str) -> Any:
        return self._spark.sql(text)
