"""Recognize options that hold secrets by their keys, and user info in URLs, and mask them."""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "******"

# Suffixes instead of full keys: a key may have the prefix 'properties.', 'key.', 'value.' or a format's name.
SECRET_ENDINGS = (
    "passphrase",
    "secret",
    "token",
    "credentials",
    "credential",
    "jaas.config",
    "oauthbearer.config",
    "oauthbearer.extensions",
    "user-info",
    "user.info",
    "private.key",
    "private-key",
    "access.key",
    "access-key",
    "api.key",
    "api-key",
    # Key material in the option itself. Certificates are public, but too long for a listing.
    "keystore.key",
    "keystore.certificate.chain",
    "certificate.pem",
    "key.pem",
    # A shell command.
    "kinit.cmd",
)
# Headers of requests to a schema registry: all but these can authenticate.
_HEADER = "request.header."
PUBLIC_HEADERS = (
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "content-type",
    "user-agent",
)
_URL_ENDINGS = ("url", "urls", "uri", "endpoint", "servers", "controllers", "broker.list")
_URL_START = re.compile(r"[\s'\"]*(?:[A-Za-z][\w+.-]*://)?")
_URL_SEPARATOR = re.compile(r"(,\s*(?=[A-Za-z][\w+.-]*://))")
_USER_INFO = re.compile(r"://[^\s/?#'\"]*@")


def is_secret(key: str) -> bool:
    """Return whether the value of the option ``key`` must never be shown.

    References such as ``${env:NAME}`` are not secrets, but are treated as such: only the key counts.
    """
    normalized = key.lower().replace("_", "-")
    is_header = _HEADER in normalized and normalized.partition(_HEADER)[2] not in PUBLIC_HEADERS
    return is_header or "password" in normalized or normalized.endswith(SECRET_ENDINGS)


def is_url(key: str) -> bool:
    """Return whether the value of the option ``key`` is a URL, an address or a list of them."""
    return key.lower().endswith(_URL_ENDINGS)


def mask_value(key: str, value: str) -> str:
    """Return an option's value as it may be shown: ``******`` for a secret, ``scheme://******@host`` for user info."""
    if is_secret(key):
        return MASK
    if not is_url(key):
        return mask_user_info(value)
    # In a malformed URL, user info may contain any character, and the scheme may be missing.
    return "".join(_mask_url(part) for part in _URL_SEPARATOR.split(value))


def mask_user_info(text: str) -> str:
    """Return a string in which the user info of URLs is masked."""
    return _USER_INFO.sub(f"://{MASK}@", text)


def _mask_url(url: str) -> str:
    start = _URL_START.match(url)
    return f"{start[0] if start else ''}{MASK}@{url.rpartition('@')[2]}" if "@" in url else url
