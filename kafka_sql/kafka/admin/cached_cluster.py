"""A cluster's client that is kept for the planner's next table or statement.

A new one asks for the first time when librdkafka next looks for a connection, most often 50 ms later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.client_cache import Kept


@dataclass
class _Client:
    cluster: Cluster

    def rested(self) -> bool:
        return True

    def renew(self) -> None:
        self.cluster.admin().doubt()


@contextmanager
def kept_cluster(config: Mapping[str, str]) -> Iterator[Cluster]:
    """Questions to one cluster for the time of a ``with`` block; what was asked in it must be answered by its end.

    Args:
        config: librdkafka's configuration of a table, with references to secrets.

    Raises:
        SecretReferenceError: a reference in it names nothing.
        KeyStoreError: a store cannot be read.
    """
    with _KEPT.use(config) as client:
        yield client.cluster


def _made(config: Mapping[str, str], _: ExitStack) -> _Client:
    return _Client(Cluster(config))


_KEPT: Final = Kept(_made)
