"""TLS for the registry: key stores as Java's clients take them, PEM or PKCS12, told apart by content."""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path
from typing import Final

from kafka_sql.errors import InvalidOptionError
from kafka_sql.formats.confluent.options import Settings

_JKS: Final = b"\xfe\xed\xfe\xed"
_PEM: Final = b"-----BEGIN"


def context(settings: Settings) -> ssl.SSLContext:
    """What a connection needs.

    Raises:
        InvalidOptionError: a file cannot be read, has another password, or is of Java's old kind (JKS).
    """
    trusted = None
    if settings.truststore:
        trusted, _ = _pem(
            settings.truststore, settings.truststore_password, f"{settings.format}.ssl.truststore.location"
        )
    found = ssl.create_default_context(cadata=trusted)
    if settings.keystore:
        option = f"{settings.format}.ssl.keystore.location"
        certificates, key = _pem(settings.keystore, settings.keystore_password, option)
        with tempfile.TemporaryDirectory() as folder:  # the library takes files only
            path = Path(folder, "client.pem")
            path.touch(mode=0o600)
            path.write_text(key + certificates)
            found.load_cert_chain(path, password=settings.keystore_password or None)
    return found


def _pem(location: str, password: str, option: str) -> tuple[str, str]:
    """Certificates and private key of a file, as PEM."""
    try:
        data = Path(os.path.expanduser(location)).read_bytes()
    except OSError as e:
        raise InvalidOptionError(f"The file of option '{option}' cannot be read: {location}: {e.strerror}.") from e
    if _PEM in data:
        return data.decode(), ""
    if data.startswith(_JKS):
        raise InvalidOptionError(
            f"The file of option '{option}' is a JKS key store: {location}. Convert it: keytool -importkeystore "
            f"-srckeystore {location} -destkeystore {location}.p12 -deststoretype PKCS12"
        )
    return _pkcs12(data, password, option, location)


def _pkcs12(data: bytes, password: str, option: str, location: str) -> tuple[str, str]:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

    try:
        store = pkcs12.load_pkcs12(data, password.encode() or None)
    except ValueError:  # its words would be no help
        raise InvalidOptionError(
            f"The file of option '{option}' is neither PEM nor PKCS12, or has another password: {location}."
        ) from None
    certificates = [c.certificate for c in (store.cert, *store.additional_certs) if c is not None]
    key = b""
    if store.key is not None:
        key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return "".join(c.public_bytes(Encoding.PEM).decode() for c in certificates), key.decode()
