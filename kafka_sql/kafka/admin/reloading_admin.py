"""A client that is made anew where its login has changed: a password by reference, a certificate in a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Any

from kafka_sql.kafka.admin.client import Admin, admin_config
from kafka_sql.kafka.config.properties import login, resolved


class Renewal:
    """The client for questions to one cluster."""

    def __init__(self, config: Mapping[str, str]) -> None:
        """Make the first; nothing is asked yet.

        Args:
            config: librdkafka's configuration of a table, with references to secrets.

        Raises:
            SecretReferenceError: a reference in it names nothing.
            KeyStoreError: a store cannot be read.
        """
        self._config, self._mine = config, admin_config(config)
        self._kept: list[tuple[Admin, Collection[Future[Any]]]] = []
        self._admin = self._made()

    def admin(self) -> Admin:
        """The client, with what its references and files say now.

        A question and its answer are one client's: hold it until the answer is there.
        """
        # here and not where an answer comes: librdkafka cannot be ended from a thread of its own
        self._kept = [(admin, answers) for admin, answers in self._kept if not all(a.done() for a in answers)]
        if login(self._mine) != self._login:
            self._admin = self._made()
        return self._admin

    def keep(self, admin: Admin, answers: Collection[Future[Any]]) -> None:
        """Hold a client until answers are there that nobody waits for."""
        self._kept.append((admin, answers))

    def _made(self) -> Admin:
        self._login = login(self._mine)
        return Admin(self._config, resolved(self._mine))
