"""What the command line asks for: spark-sql's flags, two of our own, and spark-submit's, which are passed on."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

# spark-submit's options that mean something to a shell, as of Spark 4.
_SUBMIT = (
    "--master",
    "--name",
    "--packages",
    "--exclude-packages",
    "--repositories",
    "--jars",
    "--files",
    "--archives",
    "--py-files",
    "--properties-file",
    "--driver-memory",
    "--driver-cores",
    "--driver-java-options",
    "--driver-library-path",
    "--driver-class-path",
    "--executor-memory",
    "--executor-cores",
    "--num-executors",
    "--total-executor-cores",
    "--deploy-mode",
    "--proxy-user",
    "--principal",
    "--keytab",
    "--queue",
)


@dataclass
class Arguments:
    """The command line.

    Attributes:
        sources: what to run, in order: ("text", statements) and ("file", path); none is the shell, or stdin.
        init: files to run before.
        silent: no times and no numbers of rows.
        verbose: each statement is printed before its result.
        database: the current database at the start.
        variables: of ``--hivevar``.
        hiveconf: of ``--hiveconf``.
        conf: Spark's configuration.
        submit: spark-submit's options with their values, as they are passed on.
        catalog: a folder of tables, or None.
        remote: URL of a Spark Connect server, or None.
    """

    sources: list[tuple[str, str]] = field(default_factory=list)
    init: list[str] = field(default_factory=list)
    silent: bool = False
    verbose: bool = False
    database: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    hiveconf: dict[str, str] = field(default_factory=dict)
    conf: dict[str, str] = field(default_factory=dict)
    submit: list[str] = field(default_factory=list)
    catalog: str | None = None
    remote: str | None = None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"kafka-sql: {message}. See kafka-sql --help.\n")


def parse(argv: Sequence[str]) -> Arguments:
    """The arguments of a command line.

    Raises:
        SystemExit: after --help and --version (code 0), or with a message, for what is not understood (code 2).
    """
    parser = _parser()
    given = Arguments()
    parser.parse_args(argv, namespace=given)
    if given.remote is not None and given.submit:
        options = ", ".join(dict.fromkeys(word for word in given.submit[::2]))
        parser.error(f"with --remote the server runs the statements, and {options} cannot be passed to it")
    return given


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        "kafka-sql",
        description="Spark SQL with Flink's Kafka tables. Without -e and -f: a shell, or the statements on stdin.",
        allow_abbrev=False,
        add_help=False,
        argument_default=argparse.SUPPRESS,
    )
    add = parser.add_argument
    add("-e", dest="sources", action=_Source, const="text", metavar="STATEMENTS", help="run these; repeatable")
    add("-f", dest="sources", action=_Source, const="file", metavar="FILE", help="run a file, - is stdin; repeatable")
    add("-i", dest="init", action=_Append, metavar="FILE", help="run a file before anything else; repeatable")
    add("-S", "--silent", action="store_true", help="print results only")
    add("-v", "--verbose", action="store_true", help="print each statement before its result")
    add("--database", metavar="NAME", help="the current database at the start")
    pair: dict[str, Any] = {"action": _Pair, "metavar": "KEY=VALUE"}
    add("-d", "--define", "--hivevar", dest="variables", **pair, help="a variable: ${KEY} in statements is VALUE")
    add("--hiveconf", **pair, help="a property of Hive or Hadoop")
    add("--catalog", metavar="FOLDER", help="keep the tables in this folder, one .sql file each")
    add("--remote", metavar="URL", help="run the statements on a Spark Connect server, sc://host:port")
    add("-c", "--conf", **pair, help="a property of Spark")
    add("-h", "-H", "--help", action="help", help="print this and leave")
    add("--version", action=_Version, nargs=0, help="print the versions and leave")
    submit = parser.add_argument_group("options of spark-submit, passed on (spark-submit --help explains them)")
    for option in _SUBMIT:
        submit.add_argument(option, dest="submit", action=_Submit, metavar="VALUE")
    return parser


class _Source(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.sources.append((self.const, values))


class _Append(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        getattr(namespace, self.dest).append(values)


class _Pair(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        key, equals, value = values.partition("=")
        if not key or not equals:
            # the value is not shown: it may be a secret without its key
            parser.error(f"{option} expects KEY=VALUE")
        getattr(namespace, self.dest)[key.strip()] = value


class _Submit(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.submit.extend((option, values))


class _Version(argparse.Action):
    def __call__(self, parser: Any, *_: Any) -> NoReturn:
        import pyspark

        import kafka_sql

        print(f"kafka-sql {kafka_sql.__version__}, Spark {pyspark.__version__}")
        raise SystemExit(0)
