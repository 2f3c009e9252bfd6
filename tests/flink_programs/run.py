"""Run a program of Flink on Kafka tables as a continuous query, with a restart, and compare its sinks."""

from __future__ import annotations

import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

import kafka_sql
from kafka_sql.errors import KafkaSqlError
from tests.flink_programs.content import actual_content, expected_content
from tests.flink_programs.last_rows import is_of_last_row, last_row
from tests.flink_programs.programs import Program, ProgramTable
from tests.flink_programs.tables import INSERT_ONLY, RETRACT, connector, declare, write
from tests.topics import Topics

EQUAL: Final = "equal"
DIFFERENT: Final = "different"
REFUSED: Final = "refused"  # before the start
FAILED: Final = "failed"  # after it
NOT_APPLICABLE: Final = "not applicable"

_SECONDS: Final = 240  # for all rows of a program; most take a few
_WINDOW: Final = 15  # seconds, longer than the windows and intervals of processing time
_LONGEST_WAIT: Final = 60  # seconds, until the last windows of processing time have ended
_OFFSETS: Final = "scan.max-offsets-per-trigger"
_BUSY: Final = "Python worker failed to connect back"  # within Spark's 10 s
_NO_UPDATES: Final = "doesn't support consuming update"
_LONGEST: Final = 2000  # characters of an error
_NUMBERS: Final = count(1)
_MAPS: Final = re.compile(r"MAP\s*<\s*(?:DOUBLE|BIGINT|INT)\b", re.IGNORECASE)
_TYPES: Final = re.compile("BITMAP|VARIANT", re.IGNORECASE)


@dataclass(frozen=True)
class Outcome:
    """What became of a program."""

    program: str
    outcome: str
    reason: str = ""


def run_programs(spark: Any, topics: Topics, programs: Sequence[Program], at_once: int = 3) -> Iterator[Outcome]:
    """Run programs, several at once, and yield their outcomes as they end."""
    with ThreadPoolExecutor(at_once) as threads:
        runs = [threads.submit(run_program, spark, topics, program) for program in programs]
        yield from (run.result() for run in as_completed(runs))


def run_program(spark: Any, topics: Topics, program: Program) -> Outcome:
    """Run a program in its own session and database."""
    if reason := inapplicable_reason(program):
        return Outcome(str(program), NOT_APPLICABLE, reason)
    conditions = _Conditions()
    outcome = _run(spark, topics, program, conditions)
    if _NO_UPDATES in outcome.reason:
        # Flink's sink accepts changes, but there are none among the expected rows
        conditions = replace(conditions, accepts_changes=True)
        outcome = _run(spark, topics, program, conditions)
    if outcome.outcome == DIFFERENT and any("WATERMARK" in c.upper() for t in program.tables for c in t.schema):
        # a row may be late within its micro-batch, which has one watermark; Flink's sources emit one after each row
        outcome = _run(spark, topics, program, replace(conditions, reads_rows_singly=True))
    return outcome


@dataclass(frozen=True)
class _Conditions:
    """How a program runs."""

    accepts_changes: bool = False  # whether sinks accept changes although none are expected
    reads_rows_singly: bool = False  # whether a micro-batch has one row of each source


def _run(spark: Any, topics: Topics, program: Program, conditions: _Conditions) -> Outcome:
    while _BUSY in (outcome := _run_once(spark, topics, program, conditions)).reason:
        pass
    return outcome


def _run_once(spark: Any, topics: Topics, program: Program, conditions: _Conditions) -> Outcome:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        session = kafka_sql.enable(spark.newSession())
        run = _Run(program, topics, session, f"program_{next(_NUMBERS)}", Path(folder), conditions)
        try:
            run.declare_tables()
            run.start()
        except (KafkaSqlError, PySparkException, Py4JError, ValueError) as e:
            run.stop()
            return Outcome(str(program), REFUSED, _first_lines(e))
        try:
            differences = run.process()
        except (KafkaSqlError, PySparkException, Py4JError, TimeoutError) as e:
            return Outcome(str(program), FAILED, _first_lines(e))
        finally:
            run.stop()
    return Outcome(str(program), DIFFERENT if differences else EQUAL, differences)


def inapplicable_reason(program: Program) -> str:
    """Return why a program cannot run on Kafka tables; an empty string if it can."""
    kinds = {step["kind"] for step in (*program.setup, *program.run)}
    sinks = [table for table in program.tables if not table.is_source]
    text = " ".join([*program.setup_statements, *program.statements, *(c for t in program.tables for c in t.schema)])
    reasons = {
        "Java functions and process table functions": "FUNCTION" in kinds or "inlineFunction$" in text,
        "machine learning": "MODEL" in kinds,
        "vector search": program.class_name == "VectorSearch",
        "Table API": "TEMPORAL_FUNCTION" in kinds
        or (not program.statements and bool(kinds & {"TABLE_API", "FAILING_TABLE_API"})),
        "fails in Flink, too": not program.statements,
        "the types BITMAP and VARIANT": bool(_TYPES.search(text)),
        "metadata of the test connector": any("METADATA" in c for table in program.tables for c in table.schema),
        "maps with such keys have no JSON, in Flink, too": bool(_MAPS.search(text)),
        "partitions of the test connector": any("partition-list" in table.options for table in program.tables),
        "no expected rows": not sinks or any(sink.changes is None and sink.rows is None for sink in sinks),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


@dataclass
class _Run:
    program: Program
    topics: Topics
    session: Any
    database: str
    folder: Path
    conditions: _Conditions
    stored: dict[str, tuple[ProgramTable, str, str]] = field(default_factory=dict)  # table, its connector and its topic
    queries: list[Any] = field(default_factory=list)

    def declare_tables(self) -> None:
        self.session.conf.set("spark.sql.shuffle.partitions", "1")
        self.session.conf.set("spark.sql.timeType.enabled", "true")
        self._sql(f"CREATE DATABASE {self.database}")
        self._sql(f"USE {self.database}")
        for key, value in self.program.settings.items():
            self._sql(f"SET '{key}' = '{value}'")
        self._sql("SET 'execution.runtime-mode' = 'streaming'")
        self._sql(f"SET 'execution.checkpointing.dir' = '{self.folder}'")
        needs_key = any("SYSTEM_TIME" in statement.upper() for statement in self.program.statements)
        for table in self.program.tables:
            stored, topic = connector(table, needs_key=needs_key), self.topics.create()
            if stored == INSERT_ONLY and self.conditions.accepts_changes and not table.is_source:
                stored = RETRACT
            self.stored[table.name] = table, stored, topic
            reads_singly = table.is_source and self.conditions.reads_rows_singly
            self._sql(declare(table, stored, topic, self.topics, {_OFFSETS: "1"} if reads_singly else {}))
        for statement in self.program.setup_statements:
            self._sql(statement)
        self._write("before")

    def _sql(self, statement: str) -> Any:
        return self.session.sql(re.sub(r"(`?)default_database\1", self.database, statement))

    def _write(self, rows: str) -> None:
        for table, stored, topic in self.stored.values():
            if table.is_source:
                write(self.topics, topic, stored, table.key, getattr(table, rows))

    def start(self) -> None:
        """Start the continuous queries."""
        statements = [self._insert(statement) for statement in self.program.statements]
        if len(statements) > 1:
            statements = ["EXECUTE STATEMENT SET BEGIN " + "; ".join(statements) + "; END"]
        jobs = [row[0] for statement in statements for row in self._sql(statement).collect()]
        self.queries = [self.session.streams.get(job) for job in jobs]

    def _insert(self, statement: str) -> str:
        """Return the statement, or the INSERT of a query: programs of the Table API have the query only."""
        if statement.lstrip().upper().startswith(("SELECT", "(")):
            sink = next(table.name for table in self.program.tables if not table.is_source)
            return f"INSERT INTO {sink} {statement}"
        return statement.rstrip().removesuffix(";")

    def stop(self) -> None:
        for query in self.queries:
            query.stop()
        self.queries = []

    def process(self) -> str:
        """Process the rows before the restart, those after it, and if needed the last rows. Return the differences."""
        self._wait()
        tables = [table for table, _, _ in self.stored.values() if table.is_source]
        last = {table.name: row for table in tables if (row := last_row(table)) is not None}
        if not any(table.after for table in tables) and not self._differences():
            return ""
        self.stop()
        self._write("after")
        self.start()
        self._wait()
        if (differences := self._differences()) and last:
            for name, row in last.items():
                table, stored, topic = self.stored[name]
                write(self.topics, topic, stored, table.key, [("+I", row)])
            self._wait()
            differences = self._differences()
        end = time.monotonic() + (_LONGEST_WAIT if self.program.uses_processing_time else 0)
        while differences and time.monotonic() < end:
            time.sleep(1)
            differences = self._differences()
        return differences

    def _wait(self) -> None:
        if self.program.uses_processing_time:
            # windows end without new rows, in micro-batches that never end; and Flink restores long after the savepoint
            end = time.monotonic() + _SECONDS
            while any(query.isActive and query.lastProgress is None for query in self.queries):
                if time.monotonic() > end:
                    raise TimeoutError(f"no micro-batch within {_SECONDS} s")
                time.sleep(0.2)
            time.sleep(_WINDOW)
            for failure in filter(None, (query.exception() for query in self.queries)):
                raise failure
            return
        timer = threading.Timer(_SECONDS, self.stop)
        timer.start()
        for query in self.queries:
            query.processAllAvailable()
        if not timer.is_alive():
            raise TimeoutError(f"not done after {_SECONDS} s")
        timer.cancel()

    def _differences(self) -> str:
        """Return the rows that only Flink or only this project has; an empty string if there are none."""
        differences = []
        for table, _, topic in self.stored.values():
            if not table.is_source:
                expected = expected_content(table)
                written = actual_content(table, read_topic(self.topics, topic))
                actual = Counter({row: number for row, number in written.items() if not is_of_last_row(row)})
                for name, rows in (("Flink", expected), ("here", actual)):
                    other = actual if rows is expected else expected
                    more = sorted(row for row in {*expected, *actual} for _ in range(rows[row] - other[row]))
                    if more:
                        differences.append(f"only {name}: {' '.join(more)}")
        return "; ".join(differences)


def read_topic(topics: Topics, topic: str) -> list[Message]:
    """Return all records of the only partition of a topic."""
    settings = {"bootstrap.servers": topics.bootstrap, "group.id": "tests", "enable.partition.eof": True}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages: list[Message] = []
    while True:
        message = consumer.poll(30)
        assert message is not None, f"{topic}: no end of the partition within 30 s"
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            break
        messages.append(message)
    consumer.close()
    return messages


def _first_lines(error: Exception) -> str:
    return " ".join(str(error).split())[:_LONGEST]
