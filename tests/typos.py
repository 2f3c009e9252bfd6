"""Statements with a secret, and random typos in them."""

from __future__ import annotations

import random
import re
from typing import Final

SECRET: Final = "Zq9pLantS3cretXy"
KEY: Final = "properties.sasl.password"
_OPTIONS: Final = (
    f"'connector' = 'kafka', '{KEY}' = '{SECRET}', 'topic' = 'x'",
    f"'{KEY}' = '{SECRET}', 'format' = 'json'",
    f"'topic' = 'it''s',\n  '{KEY}'='{SECRET}'\n",
)
_FORMS: Final = (
    "CREATE TABLE t (a INT, b AS UPPER('x') COMMENT 'c') COMMENT 'd' WITH ({})",
    "CREATE TEMPORARY TABLE IF NOT EXISTS t (\n  a INT\n) WITH ({})",
    "CREATE TABLE t WITH ({}) LIKE u",
    "CREATE TABLE t WITH ({}) AS SELECT a FROM u",
    "ALTER TABLE t1 SET ({})",
    "SELECT a FROM t /*+ OPTIONS({}) */ AS u WHERE b = 'c'",
    "INSERT INTO t /*+ OPTIONS({}) */ SELECT * FROM u",
)
STATEMENTS: Final = tuple(form.format(options) for form in _FORMS for options in _OPTIONS)
_TOKEN: Final = re.compile(r"'(?:[^']|'')*'|\w+|\s+|.", re.DOTALL)
_CHARACTERS: Final = "'\"`()=,;:@./*-+ \nxS0"
_MIN_EXPOSED: Final = 8  # a string with this many characters of the secret exposes it


def exposes_secret(text: str) -> bool:
    """Return whether a part of the secret is in a string."""
    parts = (SECRET[i : i + _MIN_EXPOSED] for i in range(len(SECRET) - _MIN_EXPOSED + 1))
    return any(part in text for part in parts)


def make_typos(generator: random.Random, sql: str, count: int, secret: str = SECRET) -> str:
    """Return a statement with typos: a character or a token is missing, superfluous, wrong or swapped with the next."""
    for _ in range(count):
        sql = _make_typo(generator, sql, secret)
    return sql


def make_typos_around_option(generator: random.Random, sql: str, count: int, key: str, value: str) -> str:
    """Return a statement with typos outside of an option's value; at most one is in the option's key.

    Args:
        value: as in the statement, without the quotes around it.
    """
    value_placeholder = "\1"
    sql = make_typos_beside_key(generator, sql.replace(value, value_placeholder), count, key, value_placeholder)
    return sql.replace(value_placeholder, value)


def make_typos_beside_key(generator: random.Random, sql: str, count: int, key: str = KEY, secret: str = SECRET) -> str:
    """Return a statement with typos; at most one is in the secret's key, in one character."""
    placeholder = "\0"
    has_wrong_key = generator.random() < 0.5
    typed_key = _make_character_typo(generator, key) if has_wrong_key else key
    sql = sql.replace(key, placeholder)
    for _ in range(count - has_wrong_key):
        changed = ""
        # the key must remain, before its value
        while changed.count(placeholder) != 1 or changed.find(secret[:3]) < changed.find(placeholder):
            changed = _make_typo(generator, sql, secret)
        sql = changed
    return sql.replace(placeholder, typed_key)


def _make_typo(generator: random.Random, sql: str, secret: str) -> str:
    if generator.random() < 0.6:
        return _make_character_typo(generator, sql)
    tokens = _TOKEN.findall(sql)
    return "".join(_change(generator, tokens, [token for token in tokens if not _has_part(token, secret)]))


def _has_part(token: str, secret: str) -> bool:
    return any(secret[i : i + 4] in token for i in range(0, len(secret), 4))


def _make_character_typo(generator: random.Random, text: str) -> str:
    return "".join(_change(generator, list(text), list(_CHARACTERS)))


def _change(generator: random.Random, units: list[str], others: list[str]) -> list[str]:
    index, other = generator.randrange(len(units)), generator.choice(others)
    head, unit, tail = units[:index], units[index], units[index + 1 :]
    # missing, superfluous, wrong, swapped
    changes = ([], [other, unit], [other], [*tail[:1], unit])
    kind = generator.randrange(4)
    return head + changes[kind] + (tail[1:] if kind == 3 else tail)
