"""Run a broker until Ctrl-C: ``python -m kafka_sql.embedded``, also installed as ``kafka-sql-broker``."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from kafka_sql.embedded.cluster import EmbeddedKafka
from kafka_sql.embedded.jars import KAFKA_VERSION
from kafka_sql.errors import KafkaSqlError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the broker. Return 0 after SIGINT or SIGTERM, 1 if it could not be started or exited unexpectedly."""
    options = _parser().parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):  # even if the shell started this process with SIGINT ignored
        signal.signal(number, _interrupt)
    try:
        with EmbeddedKafka(options.nodes, options.data, options.port, dict(options.property)) as kafka:
            location = f"data in {options.data}" if options.data else "data in a temporary folder, removed at exit"
            print(f"Apache Kafka {KAFKA_VERSION} is ready; {location}. Press Ctrl-C to stop.", file=sys.stderr)
            print(f"'properties.bootstrap.servers' = '{kafka.bootstrap_servers}'", flush=True)
            node = kafka.wait()
            print(f"Node {node.id} exited unexpectedly:\n{node.log_tail()}", file=sys.stderr)
            return 1
    except KafkaSqlError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


def _interrupt(*_: object) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # a second Ctrl-C must not interrupt the shutdown
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _property(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"'{text}' is not key=value")
    return key, value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kafka-sql-broker",
        description=f"Apache Kafka {KAFKA_VERSION} on 127.0.0.1 until Ctrl-C. Prints its address as a WITH option.",
    )
    parser.add_argument(
        "--nodes", type=int, choices=(1, 3), default=1, help="with 3, the racks are a, b and c (default: 1)"
    )
    parser.add_argument("--data", metavar="DIR", help="store the topics in this folder (default: a temporary folder)")
    parser.add_argument(
        "--port",
        type=int,
        metavar="N",
        help="port of the first node; the others use the following ones (default: free ports)",
    )
    parser.add_argument(
        "--property",
        type=_property,
        action="append",
        default=[],
        metavar="K=V",
        help="a broker setting; may be repeated",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
