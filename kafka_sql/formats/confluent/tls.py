"""Create the TLS context for a registry from JKS, PKCS12 or PEM key and trust stores."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kafka_sql.errors import KeyStoreError
from kafka_sql.formats.confluent.options import RegistrySettings
from kafka_sql.options import allow_lists
from kafka_sql.options.secrets import mask_user_info
from kafka_sql.stores.errors import UnreadableStore
from kafka_sql.stores.store import read_identity, trusted_certificates

T = TypeVar("T")


def ssl_context(settings: RegistrySettings) -> ssl.SSLContext:
    """Return the context for a connection.

    Raises:
        KeyStoreError: a file cannot be read, or the password is wrong.
    """
    authorities = None
    if settings.truststore:
        password = settings.truststore_password or None
        authorities = _read(
            settings, "truststore", settings.truststore, lambda data: trusted_certificates(data, password)
        )
    context = ssl.create_default_context(cadata=authorities)
    if settings.keystore:
        password = settings.keystore_password or None
        identity = _read(settings, "keystore", settings.keystore, lambda data: read_identity(data, password, password))
        with tempfile.TemporaryDirectory() as folder:  # the ssl module reads files only
            path = Path(folder, "client.pem")
            path.touch(mode=0o600)
            path.write_text(identity.key + identity.chain)
            context.load_cert_chain(path)
    return context


def _read(settings: RegistrySettings, store: str, location: str, read: Callable[[bytes], T]) -> T:
    option = f"{settings.format}.ssl.{store}.location"
    prefix = f"Option '{option}': file '{mask_user_info(location)}'"
    try:
        return read(allow_lists.read_allowed(location))
    except OSError as e:
        raise KeyStoreError(f"{prefix} cannot be read on this machine: {e.strerror}.", option=option) from None
    except UnreadableStore as e:
        remedy = f"The password is in option '{settings.format}.ssl.{store}.password'."
        raise KeyStoreError(f"{prefix}: {e}. {remedy}", option=option) from None
