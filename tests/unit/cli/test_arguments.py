"""Test the command line, which is compatible with that of spark-sql."""

from __future__ import annotations

import pytest

from kafka_sql.cli import check, class_archive, transactions
from kafka_sql.cli.arguments import parse, submit_arguments


def test_sources_keep_their_order() -> None:
    arguments = parse(["-e", "SELECT 1", "-f", "a.sql", "-f", "-", "-e", "SELECT 2", "-i", "x.sql", "-i", "y.sql"])
    assert arguments.sources == [("text", "SELECT 1"), ("file", "a.sql"), ("file", "-"), ("text", "SELECT 2")]
    assert arguments.init == ["x.sql", "y.sql"]


def test_flags_of_spark_sql() -> None:
    arguments = parse(["-S", "-v", "--database", "d", "-d", "a=1", "--define", "b=", "--hivevar", "c=x=y"])
    assert (arguments.silent, arguments.verbose, arguments.database) == (True, True, "d")
    assert arguments.variables == {"a": "1", "b": "", "c": "x=y"}
    assert (arguments.sources, arguments.catalog, arguments.remote) == ([], None, None)


def test_options_of_spark_are_passed_on_and_win() -> None:
    line = "--master local[3] --jars=a.jar,b.jar --conf spark.log.level=INFO -c x=y --hiveconf hive.a=b"
    arguments = parse(line.split())
    submitted = submit_arguments(arguments)
    assert submitted[:6] == ["--name", "kafka-sql", "--master", "local[3]", "--jars", "a.jar,b.jar"]
    assert submitted[-1] == "pyspark-shell"
    pairs = [submitted[i + 1] for i, argument in enumerate(submitted) if argument == "--conf"]
    assert {"spark.log.level=INFO", "x=y", "spark.hadoop.hive.a=b"} < set(pairs)
    assert not any(pair.startswith("spark.log.level=FATAL") for pair in pairs)
    assert "kafka-sql" not in submit_arguments(parse(["--name", "mine"]))


def test_calls_do_not_share_lists() -> None:
    parse(["-e", "SELECT 1", "--conf", "a=b"])
    assert (parse([]).sources, parse([]).conf) == ([], {})


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["a.sql", "-S"],
            "kafka-sql: 'a.sql' is neither an option nor one of the commands check, class-archive, transactions. "
            "Pass statements with -e, and files with -f. See kafka-sql --help.\n",
        ),
        (["--data", "x"], "kafka-sql: unrecognized arguments: --data x. See kafka-sql --help.\n"),
        (["-f"], "kafka-sql: argument -f: expected one argument. See kafka-sql --help.\n"),
        (["--conf", "hunter2"], "kafka-sql: --conf expects KEY=VALUE. See kafka-sql --help.\n"),
        (
            ["--remote", "sc://a", "--jars", "b"],
            "kafka-sql: --jars cannot be combined with --remote: the Spark Connect server is already running. "
            "See kafka-sql --help.\n",
        ),
    ],
)
def test_invalid_arguments(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        parse(argv)
    assert exit.value.code == 2
    assert capsys.readouterr() == ("", message)


def test_help_and_version_need_no_spark(capsys: pytest.CaptureFixture[str]) -> None:
    for argv, text in (
        (["--help"], "--hivevar KEY=VALUE"),
        (["-H"], "--driver-memory VALUE"),
        (["--version"], "Spark 4."),
    ):
        with pytest.raises(SystemExit) as exit:
            parse(argv)
        assert exit.value.code == 0
        assert text in capsys.readouterr().out


def test_help_lists_the_other_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    commands = capsys.readouterr().out.rpartition("other commands (see kafka-sql COMMAND --help):\n")[2].splitlines()
    assert [line.split()[0] for line in commands] == [check.COMMAND, class_archive.COMMAND, transactions.COMMAND]
