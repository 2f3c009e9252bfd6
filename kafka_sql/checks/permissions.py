"""Warn about Kerberos files that other users can access: a keytab serves as a password, a ticket as a login.

Neither MIT Kerberos nor librdkafka checks their modes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from kafka_sql.checks.finding import Finding
from kafka_sql.definition import Definition
from kafka_sql.kafka.config import kerberos
from kafka_sql.kafka.config.properties import resolve_config
from kafka_sql.runtime.private_files import is_accessible_by_others


def check_permissions(definition: Definition) -> Iterator[Finding]:
    """Warn if other users can read or write the keytab or the ticket cache of this machine.

    Raises:
        KafkaSqlError: a reference to a secret cannot be resolved.
    """
    config = resolve_config(definition.client_config)
    if kerberos.sasl_mechanism(config) != "GSSAPI":
        return
    tickets = kerberos.ticket_cache()
    files = {
        "the keytab of 'properties.sasl.jaas.config'": config.get("sasl.kerberos.keytab"),  # its name may be a secret
        f"the tickets in '{tickets}'": tickets,
    }
    for name, path in files.items():
        if path and _is_exposed(path):
            message = f"other users can read or write {name}. Run chmod 600 for the file, or 700 for a folder"
            yield Finding(definition.name, "permissions", True, message, is_warning=True)


def _is_exposed(path: str) -> bool:
    try:
        return is_accessible_by_others(os.stat(path))
    except OSError:  # a missing file fails the check of the authentication
        return False
