"""Regular expressions, valid in Java and Python, that find what may be a secret in SQL.

They recognize no keys: every value of a list of options may be a secret. In text that is no correct list, values cannot
be located, so all text after the first sign of options may be secret.

Repetitions are bounded: the time must be linear in the length of the text, and Java recurses for each repetition of a
group.
"""

from __future__ import annotations

import re
from typing import Final

from kafka_sql.options.secrets import PUBLIC_HEADERS, SECRET_ENDINGS

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
    return _SECRETS.search(sql) is not None


def find_options_start(sql: str) -> int | None:
    """Return the offset from which a statement, which need not parse, may contain the values of options.

    Returns:
        None if the statement has no options.
    """
    start, secret = _OPTIONS_START.search(sql), _SECRETS.search(sql)
    ends = [start.end()] if start else []
    if secret is not None:
        ends.append(max(secret.start(), secret.end(2), secret.end(3), secret.end(4)))
    return min(ends, default=None)


_SECRETS = re.compile(secrets_pattern())
# Options start after WITH, SET, OPTIONS or the start of a hint. Because these may be misspelled, they also start after
# an equals sign that follows a quote, a parenthesis or a comma, and after a key.
_OPTIONS_START = re.compile(
    r"\bWITH\b(?!\s+(?:LOCAL\s+)?TIME\b)\s*\(?|\b(?:SET|OPTIONS)\s*(?:\(\s*|(?=['\"]))|/\*\+|['\"(,]\s*=\s*",
    re.IGNORECASE,
)
