"""Test how the shell runs a statement: its rows, its time, and what a signal stops, with a fake engine."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.cli import runner as module
from kafka_sql.cli.engine import Classic, Connect, engine_for
from kafka_sql.cli.interrupts import Interrupted
from kafka_sql.cli.runner import Runner
from kafka_sql.cli.screen import Screen


class Query:
    """A continuous query."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure, self.is_stopped = failure, False

    def stop(self) -> None:
        self.is_stopped = True

    def exception(self) -> Exception | None:
        return self.failure


class Engine:
    """Returns the chunks of a frame as its rows, and records tags and cancellations."""

    def __init__(self) -> None:
        self.query = Query()
        self.canceled: list[str] = []
        self.tags: list[str] = []

    def tag(self, tag: str) -> None:
        self.tags.append(tag)

    def cancel(self, tag: str) -> None:
        self.canceled.append(tag)

    def collect_rows(self, frame: Any) -> Any:
        yield from frame.chunks

    def start_stream(self, frame: Any, emit: Any) -> Query:
        for chunk in frame.chunks:
            emit(chunk)
        return self.query

    def wait_for_end(self, query: Query, emit: Any) -> None:
        emit([["last", None]])


class Spark:
    """Records statements, and returns a result of three rows."""

    def __init__(self, **conf: str) -> None:
        settings = {"spark.sql.variable.substitute": "false", **{k.replace("_", "."): v for k, v in conf.items()}}
        self.conf = SimpleNamespace(get=settings.get)
        self.statements: list[str] = []
        self.result = frame([["1", "a"]], [["2", "b"], ["3", "c\n"]])

    def sql(self, statement: str) -> Any:
        self.statements.append(statement)
        return self.result


def frame(*chunks: list[list[str]], is_streaming: bool = False, columns: tuple[str, ...] = ("n", "name")) -> Any:
    return SimpleNamespace(chunks=chunks, isStreaming=is_streaming, columns=columns)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    fake = Engine()
    monkeypatch.setattr(module, "engine_for", lambda _: fake)
    monkeypatch.setattr(module, "run_interruptible", lambda _, work, *__: work())
    return fake


def run(spark: Any, statement: str = "SELECT 1", verbose: bool = False) -> None:
    Runner(spark, Screen(), verbose).run(statement)


def test_the_engine_is_that_of_the_session() -> None:
    classic_session: Any = SimpleNamespace(_jsparkSession=object())
    connect_session: Any = SimpleNamespace()
    assert isinstance(engine_for(classic_session), Classic)
    assert isinstance(engine_for(connect_session), Connect)


def test_rows_and_time(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    run(Spark())
    out, err = capsys.readouterr()
    assert out == "1\ta\n2\tb\n3\tc\\n\n"
    assert err.startswith("Time taken: ")
    assert err.endswith(" seconds, Fetched 3 row(s)\n")


def test_a_result_without_columns(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    spark = Spark()
    spark.result = frame(columns=())
    run(spark)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(" seconds\n")


@pytest.mark.parametrize("key", ["spark_sql_cli_print_header", "hive_cli_print_header"])
def test_a_header_is_printed_if_requested(key: str, engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    spark = Spark(**{key: "TRUE"})
    run(spark)
    assert capsys.readouterr().out.startswith("n\tname\n1\ta\n")
    spark.result = frame(is_streaming=True)
    run(spark)
    assert capsys.readouterr().out == "n\tname\nlast\tNULL\n"


@pytest.mark.parametrize(
    ("statement", "header"),
    [
        ("SHOW TABLES", "tableName"),
        ("SHOW FULL TABLES IN shop", "tableName\ttable type"),
        ("SHOW VIEWS", "viewName"),
    ],
)
def test_the_header_of_show_is_that_of_its_rows(
    statement: str, header: str, engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    spark = Spark(spark_sql_cli_print_header="true")
    spark.result = frame([["row"]], columns=("namespace", "tableName", "isTemporary", "table type"))
    spark.result.select = lambda *columns: frame([["row"]], columns=columns)
    run(spark, statement)
    assert capsys.readouterr().out == f"{header}\nrow\n"


def test_verbose_masks_secrets(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    run(Spark(), "CREATE TABLE t (a INT) WITH ('x.password' = 'hunter2')", verbose=True)
    assert capsys.readouterr().out.startswith("CREATE TABLE t (a INT) WITH ('x.password' = '******')\n")


def test_each_statement_has_its_tag(engine: Engine) -> None:
    run(Spark())
    run(Spark())
    assert len(set(engine.tags)) == 2


def test_a_signal_cancels_a_batch_query(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object, work: Any, cancel: Any, *__: object) -> None:
        cancel()
        work()
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(module, "run_interruptible", interrupt)
    with pytest.raises(Interrupted):
        run(Spark())
    assert engine.canceled == engine.tags


@pytest.mark.parametrize("failure", [None, ValueError("x")])
def test_a_signal_stops_a_continuous_query(
    failure: Exception | None, engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: object, work: Any, cancel: Any, *__: object) -> None:
        work()
        cancel()
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(module, "run_interruptible", interrupt)
    engine.query = Query(failure)
    spark = Spark()
    spark.result = frame([["1", "a"]], is_streaming=True)
    if failure is None:
        run(spark)
        assert "Fetched 2 row(s)" in capsys.readouterr().err
    else:
        with pytest.raises(Interrupted):
            run(spark)
    assert engine.query.is_stopped
    assert engine.canceled == []


def test_a_query_that_starts_after_the_signal_is_stopped(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object, work: Any, cancel: Any, *__: object) -> None:
        cancel()
        work()

    monkeypatch.setattr(module, "run_interruptible", interrupt)
    spark = Spark()
    spark.result = frame(is_streaming=True)
    run(spark)
    assert engine.query.is_stopped
