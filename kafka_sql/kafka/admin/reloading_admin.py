"""Recreate the admin client when its credentials change: a secret behind a reference, or a certificate file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Any

from kafka_sql.kafka.admin.client import Admin, admin_config
from kafka_sql.kafka.config.properties import credentials_fingerprint, resolve_config


class ReloadingAdmin:
    """The admin client of one cluster, always with the current credentials."""

    def __init__(self, config: Mapping[str, str]) -> None:
        """Create the first client. This sends no request.

        Args:
            config: librdkafka's configuration of a table, with references to secrets.

        Raises:
            SecretReferenceError: a reference cannot be resolved.
            KeyStoreError: a store cannot be read.
        """
        self._config, self._admin_config = config, admin_config(config)
        self._pending: list[tuple[Admin, Collection[Future[Any]]]] = []
        self._admin = self._create()

    def admin(self) -> Admin:
        """Return the client for the current credentials.

        Hold it until its responses have arrived: a client that nothing references is closed.
        """
        # not in a callback: librdkafka cannot be destroyed from its callback threads
        self._pending = [
            (admin, futures) for admin, futures in self._pending if not all(future.done() for future in futures)
        ]
        if credentials_fingerprint(self._admin_config) != self._credentials:
            self._admin = self._create()
        return self._admin

    def keep_until_done(self, admin: Admin, futures: Collection[Future[Any]]) -> None:
        """Hold a client until responses that no caller waits for have arrived."""
        self._pending.append((admin, futures))

    def _create(self) -> Admin:
        self._credentials = credentials_fingerprint(self._admin_config)
        return Admin(self._config, resolve_config(self._admin_config))
