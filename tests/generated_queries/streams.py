"""Run generated queries as a batch and as a stream that is cut at random and restarted at random."""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import OffsetSpec
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException

import kafka_sql
from kafka_sql.errors import KafkaSqlError
from tests.flink_programs.run import read_topic
from tests.generated_queries.contents import Content, Expected, batch_content, difference, histories, topic_content
from tests.generated_queries.queries import Query, result_columns, sql, tables, unique_key
from tests.generated_queries.shrink import shrink
from tests.generated_queries.tables import INSERT_ONLY, UPSERT, World, to_record
from tests.topics import Topics
from tests.waiting import wait_until

EQUAL: Final = "equal"
DIFFERENT: Final = "different"
REFUSED: Final = "refused"  # before the start, by an error that says what is not supported
FAILED: Final = "failed"
_SECONDS: Final = 240  # for a query
_BUSY: Final = "Python worker failed to connect back"  # within Spark's 10 s
_NUMBERS: Final = count(1)
_LATEST: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_ERRORS: Final = (KafkaSqlError, PySparkException, Py4JError, ValueError, TimeoutError, AssertionError)


@dataclass(frozen=True)
class Outcome:
    """What became of a query.

    Attributes:
        reason: the error, or the rows that differ.
        histories: numbers of the histories that differ, of keyed queries.
    """

    outcome: str
    reason: str = ""
    histories: tuple[int, ...] = ()


def write_world(topics: Topics, world: World) -> dict[str, str]:
    """Write all changes of all tables, and return their topics by table."""
    names = {}
    for table in world.tables:
        names[table.name] = topics.create()
        records = [to_record(table, change) for change in world.changes(table.name)]
        topics.produce_all(names[table.name], records)  # type: ignore[arg-type]
    return names


def run_queries(
    spark: Any, topics: Topics, world: World, queries: Sequence[Query], *, is_keyed: bool = True, at_once: int = 3
) -> Iterator[tuple[Query, Outcome]]:
    """Run queries over a world, several at once, and yield their outcomes in order."""
    names = write_world(topics, world)
    with ThreadPoolExecutor(at_once) as threads:
        runs = [
            threads.submit(run_query, spark, topics, world, names, query, is_keyed, seed)
            for seed, query in enumerate(queries)
        ]
        yield from ((query, run.result()) for query, run in zip(queries, runs, strict=True))


def run_query(
    spark: Any,
    topics: Topics,
    world: World,
    names: dict[str, str],
    query: Query,
    is_keyed: bool = True,
    seed: int = 0,
    expected: Expected | None = None,
    restarts: Sequence[int] = (1, 1, 2),
) -> Outcome:
    """Run a query over topics that have the records of a world.

    Args:
        spark: the session.
        topics: topics of the broker.
        world: tables and their changes.
        names: topics by table.
        query: the query.
        is_keyed: whether the query has the number of the history.
        seed: of the cuts and the restarts.
        expected: what another engine returns; by default, what a batch query returns.
        restarts: numbers of restarts, of which one is chosen at random.
    """
    outcome = Outcome(FAILED, _BUSY)
    while _BUSY in outcome.reason:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            session = kafka_sql.enable(spark.newSession())
            rng = random.Random(f"run-{seed}")
            run = _Run(session, topics, world, names, query, is_keyed, rng, Path(folder), expected, restarts)
            outcome = run.run()
    return outcome


def shrink_query(
    spark: Any, topics: Topics, world: World, query: Query, outcome: Outcome, *, is_keyed: bool = True, trials: int = 40
) -> tuple[World, Query]:
    """Return a smaller world and query that are different or fail in the same way."""
    if outcome.histories:
        world = world.of_histories(outcome.histories[:1])

    def fails(world: World, query: Query) -> bool:
        names = write_world(topics, world)
        return any(
            run_query(spark, topics, world, names, query, is_keyed, seed).outcome == outcome.outcome for seed in (0, 1)
        )

    return shrink(world, query, fails, trials)


@dataclass
class _Run:
    session: Any
    topics: Topics
    world: World
    names: dict[str, str]
    query: Query
    is_keyed: bool
    rng: random.Random
    folder: Path
    peer: Expected | None
    restarts: Sequence[int]
    sink: str = field(default="")

    def run(self) -> Outcome:
        self.columns = result_columns(self.query, self.is_keyed)
        try:
            self._declare()
            expected = self.peer or Expected("batch", self._run_batch())
        except _ERRORS as e:
            return Outcome(_refusal(e), f"as a batch: {_first_lines(e)}")
        self._sql("SET 'execution.runtime-mode' = 'streaming'")
        try:
            started = self._start()
        except _ERRORS as e:
            return Outcome(_refusal(e), f"before the start: {_first_lines(e)}")
        try:
            for _ in range(self.rng.choice(self.restarts)):
                self._stop_at_random(started)
                started = self._start()
            self._finish(started)
            _await_transactions(self.topics, self.sink)
            actual = topic_content(read_topic(self.topics, self.sink), self.columns)
        except _ERRORS as e:
            return Outcome(FAILED, _first_lines(e))
        finally:
            for query in self.session.streams.active:
                query.stop()
        if expected.content == actual:
            return Outcome(EQUAL)
        numbers = histories(expected.content, actual) if self.is_keyed else []
        return Outcome(DIFFERENT, difference(expected.content, actual, expected.engine), tuple(numbers))

    def _run_batch(self) -> Content:
        rows = self._sql(sql(self.query, self.is_keyed)).collect()
        return batch_content(map(tuple, rows), self.columns)

    def _sql(self, statement: str) -> Any:
        return self.session.sql(statement)

    def _declare(self) -> None:
        database = f"generated_{next(_NUMBERS)}"
        self.session.conf.set("spark.sql.shuffle.partitions", str(self.rng.choice((1, 2))))
        self._sql(f"CREATE DATABASE {database}")
        self._sql(f"USE {database}")
        self._sql("SET 'execution.runtime-mode' = 'batch'")
        self._sql(f"SET 'execution.checkpointing.dir' = '{self.folder}'")
        for table in tables(self.query):
            topic, size = self.names[table.name], max(len(self.world.changes(table.name)), 2)
            limit = {"scan.max-offsets-per-trigger": str(self.rng.randint(size // 4 + 1, size))}
            if table.kind == UPSERT:
                options = self.topics.with_upsert_options(topic, **limit)
            else:
                format_ = "json" if table.kind == INSERT_ONLY else "debezium-json"
                options = self.topics.with_options(topic, format=format_, **limit)
            self._sql(f"CREATE TABLE {table.name} {table.schema()} {options}")
        self.sink = self.topics.create()
        key = unique_key(self.query, self.is_keyed) if self.rng.random() < 0.7 else ()
        options = self.topics.with_upsert_options(self.sink)
        if not key:
            is_insert_only = self.peer is not None and self.peer.is_insert_only and self.rng.random() < 0.7
            format_ = "json" if is_insert_only else "debezium-json"
            # a micro-batch that is repeated would add or retract rows twice
            once = {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": self.sink}
            options = self.topics.with_options(self.sink, format=format_, **once)
        columns = [f"{column.name} {column.type}" for column in self.columns]
        constraint = [f"PRIMARY KEY ({', '.join(key)}) NOT ENFORCED"] if key else []
        self._sql(f"CREATE TABLE sink ({', '.join(columns + constraint)}) {options}")

    def _start(self) -> Any:
        job = self._sql(f"INSERT INTO sink {sql(self.query, self.is_keyed)}").collect()[0][0]
        return self.session.streams.get(job)

    def _stop_at_random(self, query: Any) -> None:
        """Stop the query after a random number of micro-batches, somewhere in the next one."""
        batches, deadline = self.rng.randrange(3), time.monotonic() + 30
        while query.isActive and time.monotonic() < deadline:
            progress = query.lastProgress
            if batches == 0 or (progress is not None and progress["batchId"] >= batches - 1):
                break
            time.sleep(0.05)
        time.sleep(self.rng.random())
        if (error := query.exception()) is not None:
            raise error
        query.stop()

    def _finish(self, query: Any) -> None:
        timer = threading.Timer(_SECONDS, query.stop)
        timer.start()
        query.processAllAvailable()
        if not timer.is_alive():
            raise TimeoutError(f"not done after {_SECONDS} s")
        timer.cancel()
        query.stop()


def _await_transactions(topics: Topics, topic: str) -> None:
    """Wait until no transaction of an interrupted run is open, which would hide later records from readers."""
    partition = TopicPartition(topic, 0)

    def end(isolation: IsolationLevel) -> int:
        future = topics.admin.list_offsets({partition: _LATEST}, isolation_level=isolation)[partition]
        return int(future.result(30).offset)

    wait_until(
        lambda: end(IsolationLevel.READ_COMMITTED) == end(IsolationLevel.READ_UNCOMMITTED),
        f"no open transaction in '{topic}'",
        _SECONDS,
    )


def _refusal(error: BaseException) -> str:
    """Return REFUSED for an error that says what is not supported, otherwise FAILED."""
    return REFUSED if isinstance(error, (KafkaSqlError, AnalysisException)) else FAILED


def _first_lines(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:1500]
