"""Find and mask the secrets in statements, including statements with typos."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from kafka_sql.options.secrets import MASK, PUBLIC_HEADERS, SECRET_ENDINGS

# Misspellings of these words and of SECRET_ENDINGS are recognized in keys with a dot.
_PASSWORD: Final = "password"
_HEADER: Final = "request.header."

# Repetitions are bounded: the time must be linear in the length of the text, and Java recurses for each repetition of a
# group. A key starts where no character of a key precedes it, so that each text is searched for a key only once.
_START: Final = r"(?<![\w.-])"
_END: Final = r"(?:(?![\w.-])|(?=--))"  # or a comment
_QUOTE: Final = r"['\"`]"
_KEY_END: Final = rf"(?:\s{{1,3}}{_QUOTE}(?=\s{{0,9}}\w?=)|{_QUOTE}{{0,2}})"
# Whitespace and comments between a key, the equals sign and the value.
_GAP: Final = r"\s*(?:(?:--[^\n]{0,200}\n|/\*[^*]{0,200}\*{1,20}(?:[^/*][^*]{0,99}\*{1,20}){0,5}/)\s*){0,9}"
_ADDRESS_KEY: Final = r"(?:servers|controllers|broker[.]list|ur[li]s?|endpoint)"


def secrets_pattern() -> str:
    """Return a regular expression, valid in Java and Python, that finds secrets in SQL.

    It finds the values of options with secret keys, even in a list of properties, ``user:password@`` in URLs and
    addresses, and keys and certificates in PEM. The last group that matched is the secret.

    Spark logs statements before it parses them. The expression therefore also finds the secret if a quote is missing or
    superfluous, if the equals sign is missing or is another word, or if a character of a dotted key is wrong, missing
    or superfluous. When in doubt, it finds too much.
    """
    # A literal extends to the end if it is not closed or has many escapes, and to the next separator if it contains a
    # single quote. What follows a separator without a space belongs to it, too.
    literals = (rf"{q}[^{q}\\]*(?:(?:{q}{q}|\\.)[^{q}\\]*){{0,50}}(?:{q}(?!{q})|.*)" for q in "'\"")
    literal = rf"(?:{'|'.join(literals)})(?:[^\s,;)]{{1,1000}}|[,;)]{{1,3}}(?=\w)){{0,9}}"
    value = rf"(?:\w?=>?{_GAP})?((?:\w&?)?{literal})|={_GAP}([^\s;]+(?:[\s;]\w{{1,1000}}['\"])?)"
    setting = rf"(?<=\bSET\s)\s*{_exact_key()}{_GAP}={_GAP}([^;\s'\"][^;\r\n]*)"
    option = rf"{_START}{_QUOTE}?{_exact_key()}{_KEY_END}{_GAP}(?:{value})"
    separator = rf"(?:[^\w\s'\"]{{1,3}}{_GAP}){{0,2}}"
    unquoted = r"[^\s=,;()'\"]+['\"][^\s,;)]*"
    wrong_value = (
        rf"{separator}((?:\w&{literal}|{unquoted}|(?:\w{{1,12}}\s+)?{literal})(?:\s*(?:=\s*)?{literal}){{0,2}})"
    )
    typo = rf"{_START}{_QUOTE}?{_misspelled_key()}{_KEY_END}{_GAP}(?:{wrong_value}|{value})"
    address = "|".join(
        rf"{q}(?:\w[\w+.-]{{0,20}}://)?([^{q}]{{0,1000}}(?:{q}{q}[^{q}]{{0,1000}}){{0,2}})@" for q in "'\""
    )
    addresses = rf"{_ADDRESS_KEY}{_KEY_END}{_GAP}(?:={_GAP})?(?:{address})"
    server = r"""['"]([^\s'"@:/]{1,200}:[^\s'"@]{1,1000})@(?=[\w.-]{1,255}:\d)"""
    map_entry = rf"{_START}{_exact_key()}:([^\s,'\"][^,'\"]{{0,1000}})"
    pem = r"(?:KEY|CERTIFICATE)-----(?=\s{0,9}(?:Proc-Type|[\w+/]{16}))([^-]{0,20000}(?:-[^-]{1,20000}){0,9})"
    part = r"""[^\s'":]{0,1000}(?:(?::(?!//)|''|"")[^\s'":]{0,1000}){0,9}"""
    user_info = rf"://({part}(?:://{part})?)@"
    return "(?is)" + "|".join((setting, map_entry, typo, option, addresses, server, pem, user_info))


def options_pattern() -> str:
    """Return a regular expression, valid in Java and Python, that finds statements with options."""
    return rf"""(?is)\b(?:WITH|SET|OPTIONS)\s*\(?[\s=,\w]{{0,30}}['"]|['"(,]\s*=\s*['"]|{_secret_key()}"""


def secret_options_pattern() -> str:
    """Return a regular expression for Java that finds the keys of secrets and of URLs, and values with user info.

    Spark masks the value of an option if the expression finds something in its key or its value.
    """
    endings = "|".join(map(re.escape, _spellings(SECRET_ENDINGS)))
    header = rf"{_not_public_header()}{re.escape(_HEADER)}"
    user_info = r"://[^\s/?#]*@|^[^\s:/@]+:[^\s@]+@"
    return rf"(?i)url|{_PASSWORD}|(?:{endings})$|{header}|PRIVATE KEY|{user_info}"


def find_options_start(sql: str) -> int | None:
    """Return the offset from which a statement, which need not parse, may contain the values of options.

    Returns:
        None if the statement has no options.
    """
    matches = (_OPTIONS_START.search(sql), _SECRET_KEY.search(sql))
    return min((match.end() for match in matches if match is not None), default=None)


def mask_statement(text: str) -> str:
    """Return the text with ``******`` for the values of secret options and for user info in URLs."""
    return _SECRET.sub(_mask_match, text)


def find_secrets(text: str) -> list[str]:
    """Return the values of secret options in a string, without quotes."""
    return [match[match.lastindex or 0].strip("'\"") for match in _SECRET.finditer(text)]


def has_options(sql: str) -> bool:
    """Return whether a statement, which need not parse, seems to have options."""
    return _OPTIONS.search(sql) is not None


def _mask_match(match: re.Match[str]) -> str:
    start, end = match.span(match.lastindex or 0)
    text, offset = match.string, match.start()
    quote = text[start] if text[start] in "'\"" else ""
    return text[offset:start] + quote + MASK + quote + text[end : match.end()]


def _exact_key() -> str:
    endings = "|".join(rf"(?<={re.escape(ending)})" for ending in _spellings(SECRET_ENDINGS))
    header = rf"{_not_public_header()}{re.escape(_HEADER)}[\w.-]{{1,100}}"
    return rf"(?:[\w.-]{{0,200}}?(?:{_PASSWORD}[\w.-]{{0,100}}|{header}){_END}|[\w.-]{{1,300}}{_END}(?:{endings}))"


def _not_public_header() -> str:
    """Return a lookahead that excludes the headers that are not secret."""
    return rf"(?!{re.escape(_HEADER)}(?:{'|'.join(_spellings(PUBLIC_HEADERS))}){_END})"


def _spellings(words: Iterable[str]) -> Iterator[str]:
    """Yield the words, each also with underscores in place of its hyphens."""
    for word in words:
        yield from {word: None, word.replace("-", "_"): None}


def _misspelled_key() -> str:
    endings = "|".join(map(_misspelled, SECRET_ENDINGS))
    password = rf"(?:{_misspelled(_PASSWORD)})[\w.-]{{0,100}}"
    header = rf"{_not_public_header()}(?:{_misspelled(_HEADER)})[\w.-]{{1,100}}"
    exact = "|".join(re.escape(ending) for ending in _spellings(SECRET_ENDINGS))
    return rf"[\w.-]{{1,200}}?[.](?:{password}|{header}|{endings}|[\w-]{{0,50}}?(?:{exact})){_END}"


def _misspelled(word: str) -> str:
    """Return a pattern of a word in which a character is wrong, missing or superfluous, or two are swapped."""
    parts = [(re.escape(word[:i]), re.escape(word[i + 1 :]), re.escape(word[i + 2 :])) for i in range(len(word))]
    return "|".join(f"{head}.{{0,2}}{tail}|{head}..{swapped}" for head, tail, swapped in parts)


def _secret_key() -> str:
    exact = rf"['\"]{_exact_key()}{_QUOTE}?|{_exact_key()}['\"]"
    return rf"{_START}(?:{exact}|{_misspelled_key()}{_QUOTE}?)|://(?=[^\s/]{{0,1000}}@)"


_SECRET = re.compile(secrets_pattern())
_SECRET_KEY = re.compile(_secret_key(), re.IGNORECASE | re.DOTALL)
_OPTIONS = re.compile(options_pattern())
# Options start after WITH, SET, OPTIONS or the start of a hint. Because these may be misspelled, they also start after
# an equals sign that follows a quote, a parenthesis or a comma, and after the key of a secret.
_OPTIONS_START = re.compile(
    r"\bWITH\b(?!\s+(?:LOCAL\s+)?TIME\b)\s*\(?|\b(?:SET|OPTIONS)\s*(?:\(\s*|(?=['\"]))|/\*\+|['\"(,]\s*=\s*",
    re.IGNORECASE,
)
