"""Which options hold secrets, judged by the last words of their keys."""

from __future__ import annotations

import re

# Endings and not whole keys: a key may stand under 'properties.', 'key.' or 'value.', or under a format's own name.
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
    # Key material in the option itself; the certificates beside it are public, but nobody reads them in a listing.
    "keystore.key",
    "keystore.certificate.chain",
    "key.pem",
)


def is_secret(key: str) -> bool:
    """Whether the value of the option ``key`` must never be shown.

    A reference such as ``${env:NAME}`` is not the secret itself, but is treated alike: the rule looks at keys only.
    """
    words = key.lower().replace("_", "-")
    return "password" in words or words.endswith(_ENDINGS)


# Blanks and comments between a key, its equals sign and its value. Java recurses once for each turn of a group, and an
# unclosed comment is looked for at every key, so both are bounded.
GAP_PATTERN = r"\s*(?:(?:--[^\n]{0,1000}\n|/\*[^*]{0,1000}\*{1,1000}(?:[^/*][^*]{0,1000}\*{1,1000}){0,50}/)\s*){0,20}"


def secrets_pattern() -> str:
    """A regular expression of Java's and Python's that finds ``'key' = 'value'`` of secret keys in a statement."""
    endings = "|".join(re.escape(ending).replace(r"\-", "[_-]") for ending in _ENDINGS)
    key = rf"""(?<![\w.-])['"`]?[\w.-]*(?:password[\w.-]*|{endings})['"`]?"""
    quoted = "|".join(f"{q}[^{q}]*(?:{q}{q}[^{q}]*){{0,1000}}{q}" for q in "'\"")
    return rf"""(?i){key}{GAP_PATTERN}={GAP_PATTERN}(?:{quoted}|[^\s;]+)"""
