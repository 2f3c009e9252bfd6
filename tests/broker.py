"""Which Kafka the integration tests run on, as ``KAFKA_SQL_TEST_BROKER`` says.

``embedded`` (default): the package's own, on this machine. ``testcontainers``: a container, where a Docker engine
answers, else the embedded one. Anything else is the address of a broker that runs: ``host:port``.
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
# what the tests need of a broker that they start
_SETTINGS: Final = {"log.cleaner.backoff.ms": "200"}


@dataclass(frozen=True)
class Broker:
    """A Kafka that answers.

    Attributes:
        bootstrap_servers: where.
    """

    bootstrap_servers: str


@dataclass(frozen=True)
class Choice:
    """Which Kafka it is.

    Attributes:
        kind: EMBEDDED, CONTAINER, or the address of one that runs.
        why: why it is another one than was asked for; empty where it is not.
    """

    kind: str
    why: str = ""

    def __str__(self) -> str:
        return self.kind + (f" ({self.why})" if self.why else "")


def no_docker() -> str:
    """Why there can be no container; empty where a Docker engine answers."""
    try:
        from testcontainers.core.docker_client import DockerClient
    except ImportError:
        return "testcontainers is not installed: pip install 'kafka-sql[containers]'"
    from docker.errors import DockerException

    try:
        DockerClient().client.ping()
    except (DockerException, OSError) as e:
        return f"no Docker engine answers: {e}"
    return ""


def choice(asked: str, obstacle: Callable[[], str] = no_docker) -> Choice:
    """What a value of the variable means on this machine.

    Args:
        obstacle: why there can be no container, or an empty text.

    Raises:
        ValueError: it is neither a known word nor an address.
    """
    if asked in ("", EMBEDDED):
        return Choice(EMBEDDED)
    if asked == CONTAINER:
        why = obstacle()
        return Choice(EMBEDDED, why) if why else Choice(CONTAINER)
    if not re.fullmatch(r"[\w.-]+:\d+(,[\w.-]+:\d+)*", asked):
        raise ValueError(f"{VARIABLE}={asked}: expected '{EMBEDDED}', '{CONTAINER}' or host:port[,host:port]")
    return Choice(asked)


def chosen() -> Choice:
    """What the environment asks for."""
    return choice(os.environ.get(VARIABLE, ""))


@contextmanager
def broker(which: Choice) -> Iterator[Broker]:
    """The Kafka that was chosen, for a ``with`` block; one that ran before runs on."""
    if which.kind == EMBEDDED:
        from kafka_sql.embedded import EmbeddedKafka

        with EmbeddedKafka(properties=_SETTINGS) as kafka:
            yield Broker(kafka.bootstrap_servers)
    elif which.kind == CONTAINER:
        from testcontainers.kafka import KafkaContainer

        container = KafkaContainer(IMAGE).with_kraft()
        for key, value in _SETTINGS.items():
            container = container.with_env("KAFKA_" + key.upper().replace(".", "_"), value)
        with container:
            yield Broker(container.get_bootstrap_server())
    else:
        yield Broker(which.kind)
