"""Recognize secrets: options by their keys, user info in URLs, and in SQL all that may be one.

The regular expressions for SQL are valid in Java and Python. They recognize no keys: every value of a list of options
may be a secret. In text that is no correct list, values cannot be located, so all text after the first sign of options
may be secret. Repetitions are bounded: the time must be linear in the length of the text, and Java recurses for each
repetition of a group.
"""

from __future__ import annotations

import re
from functools import cache
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
_URL_USER_INFO = re.compile(r"://[^\s/?#'\"]*@")

_LITERAL: Final = "(?:" + "|".join(rf"{q}[^{q}\\]*(?:{q}{q}[^{q}\\]*){{0,50}}{q}(?!{q})" for q in "'\"") + ")"
_PAIR: Final = rf"{_LITERAL}\s*=\s*{_LITERAL}"
PAIR_PARTS: Final = rf"({_LITERAL})(\s*=\s*)({_LITERAL})"
_LIST: Final = rf"{_PAIR}(?:\s*,\s*{_PAIR}){{0,60}}(?=\s*(?:[);]|$))"
_NAME: Final = r"[\w-]{1,100}(?:[.][\w-]{1,100}){1,9}"  # with a dot
_REST: Final = r"[\s\S]*"
_PART: Final = r"""[^\s'":]{0,1000}(?:(?::(?!//)|''|"")[^\s'":]{0,1000}){0,9}"""
_USER_INFO: Final = rf"://{_PART}(?:://{_PART})?@"
_PEM: Final = rf"-----BEGIN{_REST}"
_ENDINGS: Final = "|".join(
    dict.fromkeys(re.escape(word) for ending in SECRET_ENDINGS for word in (ending, ending.replace("-", "_")))
)
_COLUMN: Final = rf"(?:password[\w.-]{{0,100}}|{_ENDINGS})['\"`]?\s*=\s*"
_VALUE: Final = rf"(?:{_LITERAL}|[^\s;,)]+)"


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
    return _URL_USER_INFO.sub(f"://{MASK}@", text)


def _mask_url(url: str) -> str:
    start = _URL_START.match(url)
    return f"{start[0] if start else ''}{MASK}@{url.rpartition('@')[2]}" if "@" in url else url


def secrets_pattern() -> str:
    """Return a regular expression that finds the secrets of statements, for Spark's logs and user interface.

    It finds the options of correct lists and of SET, user info in URLs, keys and certificates in PEM, and the values of
    columns with the names of secrets. After a typo, it finds the rest of the text. Group 1 is a correct list. What
    groups 2 to 4 match is not secret.
    """
    after_word = rf"(?:(?<=\bWITH)|(?<=\bSET)|(?<=\bOPTIONS))(?!\s+(?:LOCAL\s+)?TIME\b)(?!\s*\(?\s*{_LIST})"
    options = rf"{after_word}([^\w'\"]{{0,9}})(?:[\s=,\w]{{0,30}}['\"]|(?<=\()){_REST}"
    comment = r"(?:--[^\n]{0,200}\s*|/\*[^*]{0,200}\*/\s*)?"
    setting = rf"((?<=\bSET\s)\s*`?{_NAME}`?\s*{comment}=\s*)[^;]*"
    pair = rf"\w\s?['\"]\s*={_REST}"
    key = (
        rf"(?<=['\"]){_NAME}\s*(?:=\s*['\"]|['\"](?:[^'\",)]{{0,9}}=|\s*(?:['\"]|--|/\*))){_REST}"
        rf"|{_NAME}(?:--|/\*)[^=]{{0,200}}={_REST}"
    )
    return "(?i)" + "|".join((f"({_LIST})", options, setting, pair, key, f"({_COLUMN}){_VALUE}", _USER_INFO, _PEM))


def values_pattern() -> str:
    """Return a regular expression that finds the secrets in prose, with the same groups."""
    return "(?i)" + "|".join((f"({_PAIR})", f"({_COLUMN}){_VALUE}()()", _USER_INFO, _PEM))


def secret_options_pattern() -> str:
    """Return a regular expression for Java that finds the keys of secrets and of URLs, and values with user info.

    Spark masks the value of an option if the expression finds something in its key or its value.
    """
    public = "|".join(word for header in PUBLIC_HEADERS for word in (header, header.replace("-", "_")))
    header = rf"request[.]header[.](?!(?:{public})(?![\w.-]))"
    user_info = r"://[^\s/?#]*@|^[^\s:/@]+:[^\s@]+@"
    return rf"(?i)url|password|(?:{_ENDINGS})$|{header}|PRIVATE KEY|{user_info}"


def has_options(sql: str) -> bool:
    """Return whether a statement, which need not parse, seems to have options."""
    return _secrets().search(sql) is not None


def find_options_start(sql: str) -> int | None:
    """Return the offset from which a statement, which need not parse, may contain the values of options.

    Returns:
        None if the statement has no options.
    """
    start, secret = _OPTIONS_START.search(sql), _secrets().search(sql)
    ends = [start.end()] if start else []
    if secret is not None:
        ends.append(max(secret.start(), secret.end(2), secret.end(3), secret.end(4)))
    return min(ends, default=None)


@cache
def _secrets() -> re.Pattern[str]:
    """Compile the expression when it is needed: Spark's workers import this module and do not need it."""
    return re.compile(secrets_pattern())


# Options start after WITH, SET, OPTIONS or the start of a hint. Because these may be misspelled, they also start after
# an equals sign that follows a quote, a parenthesis or a comma, and after a key.
_OPTIONS_START = re.compile(
    r"\bWITH\b(?!\s+(?:LOCAL\s+)?TIME\b)\s*\(?|\b(?:SET|OPTIONS)\s*(?:\(\s*|(?=['\"]))|/\*\+|['\"(,]\s*=\s*",
    re.IGNORECASE,
)
