"""Start the Kafka for the integration tests, as configured by ``KAFKA_SQL_TEST_BROKER``.

``embedded`` (default): the embedded broker of this package. ``testcontainers``: a container if a Docker engine is
available, else the embedded broker. Anything else is the address of a running broker: ``host:port``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

VARIABLE: Final = "KAFKA_SQL_TEST_BROKER"
IMAGE: Final = "apache/kafka:4.1.0"
EMBEDDED, CONTAINER = "embedded", "testcontainers"
# broker settings that the tests rely on
_SETTINGS: Final = {"log.cleaner.backoff.ms": "200"}


@dataclass(frozen=True)
class Broker:
    """A running Kafka broker."""

    bootstrap_servers: str


@dataclass(frozen=True)
class BrokerChoice:
    """Which broker the tests use.

    Attributes:
        name: EMBEDDED, CONTAINER, or the address of a running broker.
        fallback_reason: why it is not the configured one; empty if it is.
    """

    name: str
    fallback_reason: str = ""

    def __str__(self) -> str:
        return self.name + (f" ({self.fallback_reason})" if self.fallback_reason else "")


def docker_problem() -> str:
    """Return why no container can be started; empty if a Docker engine is available."""
    try:
        from testcontainers.core.docker_client import DockerClient
    except ImportError:
        return "testcontainers is not installed: pip install 'kafka-sql[containers]'"
    from docker.errors import DockerException

    try:
        DockerClient().client.ping()
    except (DockerException, OSError) as e:
        return f"no Docker engine: {e}"
    return ""


def parse_choice(value: str, check_docker: Callable[[], str] = docker_problem) -> BrokerChoice:
    """Return the broker for a value of the variable.

    Args:
        check_docker: returns why no container can be started, or an empty string.

    Raises:
        ValueError: the value is neither a keyword nor an address.
    """
    if value in ("", EMBEDDED):
        return BrokerChoice(EMBEDDED)
    if value == CONTAINER:
        problem = check_docker()
        return BrokerChoice(EMBEDDED, problem) if problem else BrokerChoice(CONTAINER)
    if not re.fullmatch(r"[\w.-]+:\d+(,[\w.-]+:\d+)*", value):
        raise ValueError(f"{VARIABLE}={value}: expected '{EMBEDDED}', '{CONTAINER}' or host:port[,host:port]")
    return BrokerChoice(value)


def choice_from_environment() -> BrokerChoice:
    """Return the broker that the environment variable selects."""
    return parse_choice(os.environ.get(VARIABLE, ""))


@contextmanager
def start_broker(choice: BrokerChoice) -> Iterator[Broker]:
    """Start the chosen broker for a ``with`` block. A broker that was already running is not stopped."""
    if choice.name == EMBEDDED:
        from kafka_sql.embedded import EmbeddedKafka

        with EmbeddedKafka(properties=_SETTINGS) as kafka:
            yield Broker(kafka.bootstrap_servers)
    elif choice.name == CONTAINER:
        from testcontainers.kafka import KafkaContainer

        container = KafkaContainer(IMAGE).with_kraft()
        for key, value in _SETTINGS.items():
            container = container.with_env("KAFKA_" + key.upper().replace(".", "_"), value)
        with container:
            yield Broker(container.get_bootstrap_server())
    else:
        yield Broker(choice.name)
