"""An ``ssl`` context from librdkafka's options."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from kafka_sql.errors import BrokerError, InvalidOptionError

# what narrows down or replaces OpenSSL's own ways, and Python's ssl cannot be told
_CANNOT: Final = ("ssl.curves.list", "ssl.sigalgs.list", "ssl.engine.location")


def check_tls(config: Mapping[str, str]) -> None:
    """Refuse what this client could not honour.

    Raises:
        InvalidOptionError: names the option.
    """
    for key in _CANNOT:
        if config.get(key):
            raise InvalidOptionError(
                f"Option 'properties.{key}' is not supported with 'sink.delivery-guarantee' = 'exactly-once': the "
                "client that ends transactions uses Python's ssl, which has no such setting. Leave it out."
            )


def tls_context(config: Mapping[str, str]) -> ssl.SSLContext:
    """A context with the certificates, keys and checks of ``config``, whose references are resolved.

    Raises:
        BrokerError: a file cannot be read, or holds no certificate or key. No content is quoted.
        InvalidOptionError: there is no such cipher suite.
    """
    try:
        return _context(config)
    except (OSError, ssl.SSLError, ValueError) as e:
        reason = getattr(e, "reason", None) or getattr(e, "strerror", None) or type(e).__name__
        raise BrokerError(
            f"The certificates or keys of the options 'properties.ssl.*' cannot be used: {reason}."
        ) from None


def _context(config: Mapping[str, str]) -> ssl.SSLContext:
    given = config.get("ssl.ca.location")
    location = given if given and given != "probe" else None
    folder = location is not None and Path(location).is_dir()
    context = ssl.create_default_context(  # which trusts the system's authorities where none are given, and only then
        cafile=None if folder else location,
        capath=location if folder else None,
        cadata=config.get("ssl.ca.pem") or None,
    )
    verify = config.get("enable.ssl.certificate.verification", "true").lower() in ("true", "t", "1")
    context.check_hostname = verify and config.get("ssl.endpoint.identification.algorithm", "https") == "https"
    if not verify:
        context.verify_mode = ssl.CERT_NONE
    if config.get("ssl.crl.location"):
        context.load_verify_locations(cafile=config["ssl.crl.location"])
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    if config.get("ssl.cipher.suites"):
        _set_ciphers(context, config["ssl.cipher.suites"])
    with ExitStack() as open_files:
        certificate = config.get("ssl.certificate.location") or _file(config, "ssl.certificate.pem", open_files)
        key = config.get("ssl.key.location") or _file(config, "ssl.key.pem", open_files)
        if certificate:
            # a password that is not there must not be asked for at a terminal
            context.load_cert_chain(certificate, key, config.get("ssl.key.password") or "")
    return context


def _set_ciphers(context: ssl.SSLContext, suites: str) -> None:
    try:
        context.set_ciphers(suites.replace(",", ":"))
    except ssl.SSLError:
        raise InvalidOptionError(
            "Option 'properties.ssl.cipher.suites' names no cipher suite that OpenSSL has for TLS 1.2 or older. Name "
            "one, or leave the option out: the suites of TLS 1.3 are always allowed."
        ) from None


def _file(config: Mapping[str, str], key: str, stack: ExitStack) -> str | None:
    return stack.enter_context(_path(config[key])) if config.get(key) else None


@contextmanager
def _path(text: str) -> Iterator[str]:
    """A name under which OpenSSL can read the text once, which never gets onto a disk."""
    reading, writing = os.pipe()
    try:
        with open(writing, "w") as pipe:  # a PEM file is smaller than the smallest of pipes
            pipe.write(text)
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
