"""Create an ``ssl`` context from librdkafka's options."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from kafka_sql.errors import BrokerError, InvalidOptionError
from kafka_sql.kafka.config.conversions import TLS_1_3_ONLY

# settings of OpenSSL that Python's ssl does not offer
_UNSUPPORTED: Final = ("ssl.curves.list", "ssl.sigalgs.list", "ssl.providers")


def check_tls(config: Mapping[str, str]) -> None:
    """Check that Python's ssl supports the TLS settings.

    Raises:
        InvalidOptionError: a setting is not supported; the message names the option.
    """
    for key in _UNSUPPORTED:
        if config.get(key):
            raise InvalidOptionError(
                f"Option 'properties.{key}' is not supported with 'sink.delivery-guarantee' = 'exactly-once' and "
                "'properties.group.id': the client for transactions and groups uses Python's ssl, which has no such "
                "setting. Remove it.",
                option=f"properties.{key}",
            )


def tls_context(config: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context with the certificates, keys and checks of ``config``.

    Args:
        config: librdkafka's configuration, with references to secrets resolved.

    Raises:
        BrokerError: a file is not readable, or contains no certificate or key. Its content is not quoted.
        InvalidOptionError: a cipher suite is unknown.
    """
    try:
        return _context(config)
    except (OSError, ssl.SSLError, ValueError) as e:
        cause = getattr(e, "reason", None) or getattr(e, "strerror", None) or type(e).__name__
        raise BrokerError(
            f"The certificates or keys of the options 'properties.ssl.*' cannot be used: {cause}."
        ) from None


def _context(config: Mapping[str, str]) -> ssl.SSLContext:
    option = config.get("ssl.ca.location")
    location = option if option and option != "probe" else None
    is_folder = location is not None and Path(location).is_dir()
    context = ssl.create_default_context(  # trusts the system's certificate authorities only if none are configured
        cafile=None if is_folder else location,
        capath=location if is_folder else None,
        cadata=config.get("ssl.ca.pem") or None,
    )
    # values are normalized (kafka.config.normalization), so a check is off only at exactly the value that disables it
    verify = config.get("enable.ssl.certificate.verification") != "false"
    context.check_hostname = verify and config.get("ssl.endpoint.identification.algorithm") != "none"
    if not verify:
        context.verify_mode = ssl.CERT_NONE
    if config.get("ssl.crl.location"):
        context.load_verify_locations(cafile=config["ssl.crl.location"])
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    if config.get("ssl.cipher.suites") == TLS_1_3_ONLY:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    elif config.get("ssl.cipher.suites"):
        _set_ciphers(context, config["ssl.cipher.suites"])
    with ExitStack() as open_files:
        certificate = config.get("ssl.certificate.location") or _pem_file(config, "ssl.certificate.pem", open_files)
        key = config.get("ssl.key.location") or _pem_file(config, "ssl.key.pem", open_files)
        if certificate:
            # never None: OpenSSL would prompt for the password on the terminal
            context.load_cert_chain(certificate, key, config.get("ssl.key.password") or "")
    return context


def _set_ciphers(context: ssl.SSLContext, suites: str) -> None:
    try:
        context.set_ciphers(suites.replace(",", ":"))
    except ssl.SSLError:
        raise InvalidOptionError(
            "Option 'properties.ssl.cipher.suites' contains no cipher suite that OpenSSL supports for TLS 1.2 or "
            "older. Add one, or remove the option: the suites of TLS 1.3 are always allowed.",
            option="properties.ssl.cipher.suites",
        ) from None


def _pem_file(config: Mapping[str, str], key: str, stack: ExitStack) -> str | None:
    return stack.enter_context(_as_file(config[key])) if config.get(key) else None


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """Yield a path from which OpenSSL can read the text once, without writing the text to disk."""
    read_end, write_end = os.pipe()
    try:
        with open(write_end, "w") as pipe:  # does not block: a PEM file is smaller than the buffer of a pipe
            pipe.write(text)
        yield f"/dev/fd/{read_end}"
    finally:
        os.close(read_end)
