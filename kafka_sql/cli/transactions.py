"""``kafka-sql transactions``: list and end transactions that a crashed exactly-once writer left open, without Spark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import javaproperties

from kafka_sql.errors import KafkaSqlError

COMMAND = "transactions"


def run(argv: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    arguments = _create_parser().parse_args(argv)
    try:
        properties = _client_properties(arguments)
        for line in _execute(arguments, properties):
            print(line)
    except (KafkaSqlError, OSError) as e:
        print(e, file=sys.stderr)
        return 1
    return 0


def _create_parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    add = shared.add_argument
    add("--bootstrap-server", required=True, metavar="HOST:PORT", help="bootstrap brokers")
    add("--prefix", required=True, help="the table's 'sink.transactional-id-prefix'")
    add("--command-config", metavar="FILE", help="a client properties file, as for Kafka's own tools")
    add(
        "--property",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a client property; ${env:NAME} and ${file:PATH:KEY} are replaced",
    )
    parser = argparse.ArgumentParser(f"kafka-sql {COMMAND}", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", parents=[shared], help="list open transactions, and whether they were decided")
    commit = commands.add_parser("commit", parents=[shared], help="commit the decided transactions")
    commit.add_argument(
        "--accept-missing",
        action="store_true",
        help="count batches as written even if they lost rows after the decision",
    )
    abort = commands.add_parser(
        "abort", parents=[shared], help="abort the undecided transactions; this fences a running writer of the prefix"
    )
    abort.add_argument(
        "--rewrite", action="store_true", help="also remove the last decision, so that its batch is written again"
    )
    return parser


def _client_properties(arguments: argparse.Namespace) -> dict[str, str]:
    properties: dict[str, str] = {}
    if arguments.command_config is not None:
        properties.update(javaproperties.loads(Path(arguments.command_config).read_text(encoding="utf-8")))
    for pair in arguments.property:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            _create_parser().error("--property expects KEY=VALUE")
        properties[key.strip()] = value
    return {**properties, "bootstrap.servers": arguments.bootstrap_server}


def _execute(arguments: argparse.Namespace, properties: dict[str, str]) -> list[str]:
    from kafka_sql.sink.exactly_once.admin import abort_transactions, commit_transactions, list_transactions

    prefix = arguments.prefix
    if arguments.command == "commit":
        return [f"committed\t{t}" for t in commit_transactions(properties, prefix, arguments.accept_missing)]
    if arguments.command == "abort":
        return [f"aborted\t{t}" for t in abort_transactions(properties, prefix, arguments.rewrite)]
    return [
        "\t".join(
            (
                t.id,
                "decided" if t.decided else "undecided",
                ",".join(t.topics),
                t.started.isoformat(" ", "seconds"),
                f"aborted by the brokers at {t.aborts.isoformat(' ', 'seconds')}",
            )
        )
        for t in list_transactions(properties, prefix)
    ]
