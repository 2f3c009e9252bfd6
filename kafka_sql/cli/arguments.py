"""Parse the command line: spark-sql's flags, --catalog, --remote, and spark-submit's options, which are passed on."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

# spark-submit's options that apply to a shell, as of Spark 4
_SUBMIT_OPTIONS = (
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

# other commands, which ``kafka-sql COMMAND --help`` describes
_COMMANDS = {
    "check": "check whether tables can be read and written",
    "class-archive": "let Spark start faster from now on",
    "transactions": "list and end transactions that a writer left open",
}

# The shell prints errors in one line; Spark's log would add the stack traces of tasks.
_QUIET = {"spark.log.level": "FATAL"}
_DEFAULTS = {
    "spark.ui.showConsoleProgress": "false",  # the shell has its own progress line
    "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",  # even if a streaming SELECT is stopped
}


@dataclass
class Arguments:
    """The parsed command line."""

    # what to run, in order: ("text", statements) and ("file", path). Empty: the shell, or stdin.
    sources: list[tuple[str, str]] = field(default_factory=list)
    init: list[str] = field(default_factory=list)  # files to run first
    silent: bool = False  # whether to omit times and row counts
    verbose: bool = False  # whether to print each statement before its result
    database: str | None = None  # the current database at the start
    variables: dict[str, str] = field(default_factory=dict)  # values of ``--hivevar``
    hiveconf: dict[str, str] = field(default_factory=dict)  # values of ``--hiveconf``
    conf: dict[str, str] = field(default_factory=dict)  # Spark's configuration
    submit: list[str] = field(default_factory=list)  # spark-submit's options and values, in order
    catalog: str | None = None  # the catalog folder, or None
    remote: str | None = None  # URL of a Spark Connect server, or None


def submit_arguments(arguments: Arguments) -> list[str]:
    """Return spark-submit's arguments, with which PySpark starts its JVM. ``--conf`` overrides the defaults."""
    hadoop = {f"spark.hadoop.{key}": value for key, value in arguments.hiveconf.items()}
    conf = {**_QUIET, **_DEFAULTS, **hadoop, **arguments.conf}
    name = [] if "--name" in arguments.submit else ["--name", "kafka-sql"]
    conf_options = [argument for key, value in conf.items() for argument in ("--conf", f"{key}={value}")]
    return [*name, *arguments.submit, *conf_options, "pyspark-shell"]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"kafka-sql: {message}. See kafka-sql --help.\n")


def parse(argv: Sequence[str]) -> Arguments:
    """Parse a command line; exit with code 0 after --help and --version, with 2 and a message if it is invalid."""
    parser = _create_parser()
    arguments = Arguments()
    _, unknown = parser.parse_known_args(argv, namespace=arguments)
    if unknown and not unknown[0].startswith("-"):
        parser.error(
            f"'{unknown[0]}' is neither an option nor one of the commands {', '.join(_COMMANDS)}. Pass statements with "
            "-e, and files with -f"
        )
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if arguments.remote is not None and arguments.submit:
        options = ", ".join(dict.fromkeys(word for word in arguments.submit[::2]))
        parser.error(f"{options} cannot be combined with --remote: the Spark Connect server is already running")
    return arguments


def _create_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        "kafka-sql",
        description="Spark SQL with Flink's Kafka tables. Without -e and -f: a shell, or the statements on stdin.",
        epilog="other commands (see kafka-sql COMMAND --help):\n"
        + "".join(f"  {name:<22}{purpose}\n" for name, purpose in _COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
        argument_default=argparse.SUPPRESS,
    )
    add = parser.add_argument
    sources: dict[str, Any] = {"dest": "sources", "action": "append"}
    add("-e", **sources, type=partial(_pair, "text"), metavar="STATEMENTS", help="run these statements; repeatable")
    add("-f", **sources, type=partial(_pair, "file"), metavar="FILE", help="run a file; - reads stdin; repeatable")
    add("-i", dest="init", action="append", metavar="FILE", help="run a file first; repeatable")
    add("-S", "--silent", action="store_true", help="print results only")
    add("-v", "--verbose", action="store_true", help="print each statement before its result")
    add("--database", metavar="NAME", help="the current database at the start")
    pair: dict[str, Any] = {"action": _Pair, "metavar": "KEY=VALUE"}
    variables = {**pair, "dest": "variables", "help": "set a variable: ${KEY} in statements becomes VALUE"}
    add("-d", "--define", "--hivevar", **variables)
    add("--hiveconf", **pair, help="set a Hive or Hadoop property")
    add("--catalog", metavar="FOLDER", help="persist the tables in this folder, one .sql file each")
    add("--remote", metavar="URL", help="run the statements on a Spark Connect server, sc://host:port")
    add("-c", "--conf", **pair, help="set a Spark property")
    add("-h", "-H", "--help", action="help", help="print this help and exit")
    add("--version", action=_Version, nargs=0, help="print the versions and exit")
    submit = parser.add_argument_group("options of spark-submit, passed on (see spark-submit --help)")
    for option in _SUBMIT_OPTIONS:
        submit.add_argument(option, dest="submit", action="extend", type=partial(_pair, option), metavar="VALUE")
    return parser


def _pair(first: str, second: str) -> tuple[str, str]:
    return first, second


class _Pair(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        key, equals, value = values.partition("=")
        if not key or not equals:
            # do not show the value: without its key, it is unknown whether it is a secret
            parser.error(f"{option} expects KEY=VALUE")
        getattr(namespace, self.dest)[key.strip()] = value


class _Version(argparse.Action):
    def __call__(self, parser: Any, *_: Any) -> NoReturn:
        import pyspark

        import kafka_sql

        print(f"kafka-sql {kafka_sql.__version__}, Spark {pyspark.__version__}")
        raise SystemExit(0)
