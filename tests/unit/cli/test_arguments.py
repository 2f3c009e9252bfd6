"""The command line, as spark-sql takes it."""

from __future__ import annotations

import pytest

from kafka_sql.cli.arguments import parse
from kafka_sql.cli.spark_session import submit_arguments


def test_sources_keep_their_order() -> None:
    given = parse(["-e", "SELECT 1", "-f", "a.sql", "-f", "-", "-e", "SELECT 2", "-i", "x.sql", "-i", "y.sql"])
    assert given.sources == [("text", "SELECT 1"), ("file", "a.sql"), ("file", "-"), ("text", "SELECT 2")]
    assert given.init == ["x.sql", "y.sql"]


def test_flags_of_spark_sql() -> None:
    given = parse(["-S", "-v", "--database", "d", "-d", "a=1", "--define", "b=", "--hivevar", "c=x=y"])
    assert (given.silent, given.verbose, given.database) == (True, True, "d")
    assert given.variables == {"a": "1", "b": "", "c": "x=y"}
    assert (given.sources, given.catalog, given.remote) == ([], None, None)


def test_what_is_sparks_is_passed_on_and_wins() -> None:
    line = "--master local[3] --jars=a.jar,b.jar --conf spark.log.level=INFO -c x=y --hiveconf hive.a=b"
    given = parse(line.split())
    words = submit_arguments(given)
    assert words[:6] == ["--name", "kafka-sql", "--master", "local[3]", "--jars", "a.jar,b.jar"]
    assert words[-1] == "pyspark-shell"
    pairs = [words[i + 1] for i, word in enumerate(words) if word == "--conf"]
    assert {"spark.log.level=INFO", "x=y", "spark.hadoop.hive.a=b"} < set(pairs)
    assert not any(pair.startswith("spark.log.level=FATAL") for pair in pairs)
    assert "kafka-sql" not in submit_arguments(parse(["--name", "mine"]))


def test_calls_do_not_share_lists() -> None:
    parse(["-e", "SELECT 1", "--conf", "a=b"])
    assert (parse([]).sources, parse([]).conf) == ([], {})


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["a.sql"], "kafka-sql: unrecognized arguments: a.sql. See kafka-sql --help.\n"),
        (["--data", "x"], "kafka-sql: unrecognized arguments: --data x. See kafka-sql --help.\n"),
        (["-f"], "kafka-sql: argument -f: expected one argument. See kafka-sql --help.\n"),
        (["--conf", "hunter2"], "kafka-sql: --conf expects KEY=VALUE. See kafka-sql --help.\n"),
        (
            ["--remote", "sc://a", "--jars", "b"],
            "kafka-sql: with --remote the server runs the statements, and --jars cannot be passed to it. "
            "See kafka-sql --help.\n",
        ),
    ],
)
def test_refused(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        parse(argv)
    assert stop.value.code == 2
    assert capsys.readouterr() == ("", message)


def test_help_and_version_need_no_spark(capsys: pytest.CaptureFixture[str]) -> None:
    for argv, words in (
        (["--help"], "--hivevar KEY=VALUE"),
        (["-H"], "--driver-memory VALUE"),
        (["--version"], "Spark 4."),
    ):
        with pytest.raises(SystemExit) as stop:
            parse(argv)
        assert stop.value.code == 0
        assert words in capsys.readouterr().out
