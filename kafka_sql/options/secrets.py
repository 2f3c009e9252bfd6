"""Recognize options that hold secrets, by the end of their keys."""

from __future__ import annotations

import re

# Suffixes instead of full keys: a key may have the prefix 'properties.', 'key.', 'value.' or a format's name.
_ENDINGS = (
    "passphrase",
    "secret",
    "token",
    "credentials",
    "credential",
    "jaas.config",
    "oauthbearer.config",
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
    "key.pem",
)


def is_secret(key: str) -> bool:
    """Whether the value of the option ``key`` must never be shown.

    References such as ``${env:NAME}`` are not secrets, but are treated as such: only the key counts.
    """
    words = key.lower().replace("_", "-")
    return "password" in words or words.endswith(_ENDINGS)


# Whitespace and comments between a key, the equals sign and the value. Repetitions are bounded because Java recurses
# for each repetition of a group, and searches for the end of an unclosed comment at every key.
GAP_PATTERN = r"\s*(?:(?:--[^\n]{0,1000}\n|/\*[^*]{0,1000}\*{1,1000}(?:[^/*][^*]{0,1000}\*{1,1000}){0,50}/)\s*){0,20}"


def secrets_pattern() -> str:
    """Return a regular expression, valid in Java and Python, that finds ``'key' = 'value'`` of secret keys in SQL."""
    endings = "|".join(re.escape(ending).replace(r"\-", "[_-]") for ending in _ENDINGS)
    key = rf"""(?<![\w.-])['"`]?[\w.-]*(?:password[\w.-]*|{endings})['"`]?"""
    quoted = "|".join(f"{q}[^{q}]*(?:{q}{q}[^{q}]*){{0,1000}}{q}" for q in "'\"")
    return rf"""(?i){key}{GAP_PATTERN}={GAP_PATTERN}(?:{quoted}|[^\s;]+)"""
