"""Fuzz table options: they must be valid, or raise one of this package's errors, which must not quote secrets."""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Iterator
from functools import cache
from typing import Final

import pyarrow as pa

from kafka_sql.definition import validate_table
from kafka_sql.errors import InvalidOptionError, KafkaSqlError, OptionError
from kafka_sql.formats.registry import FORMATS
from kafka_sql.kafka.config.jaas import parse_jaas, to_librdkafka_options
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES
from kafka_sql.kafka.config.properties import resolve_config
from kafka_sql.kafka.config.token_providers import OWN_PROPERTIES
from kafka_sql.options import connector as opt
from kafka_sql.options.positions import fill_in_topic, parse_specific_offsets
from kafka_sql.options.secrets import is_secret
from kafka_sql.table.table import Column, Table
from tests.fuzz.harness import require
from tests.fuzz.mutation import lengthen, mutate_text

PLANTED: Final = "planted-4711"
_COLUMNS: Final = (Column("id", "BIGINT", "BIGINT", nullable=False), Column("s", "STRING", "STRING"))
_SCHEMA: Final = pa.schema([pa.field("id", pa.int64(), False), ("s", pa.string())])
_VALID: Final = (
    *("true", "false", "1", "10", "20000", "5 min", "10 s", "-1 hour", "64 mb", "32 kb", "id", "s", "t", "t;u", "ALL"),
    *("EXCEPT_KEY", "earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets", "fail"),
    *("partition:0,offset:42;partition:1,offset:300", "topic:t,partition:0,offset:42", "t:0,1;u:3", "at-least-once"),
    *(
        "exactly-once",
        "POOLING",
        "round-robin",
        "tests.transaction_writers:First",
        "env:HOME",
        "file:/etc/hostname",
        "raw",
        "json",
    ),
    *("2026-03-01T12:00:00Z", "1589355606100", "h:9092,i:9093", "${env:HOME}", "${file:/tmp/x:k}", "topic-(a|b)+", ","),
    *("SASL_SSL", "PLAIN", "SCRAM-SHA-512", "OAUTHBEARER", "read_committed", "zstd", "/dev/zero", "/etc", "ISO-8859-1"),
    *("a:1,b:2", "k1:v1,k2:v2", "http://localhost:8081", "user:password", "ISO-8601", "SQL", "UTF-16", "little-endian"),
)
_OFFSETS: Final = (
    "partition:0,offset:42;partition:1,offset:300",
    "topic:t,partition:0,offset:42;topic:u.v-w,partition:2147483647,offset:9223372036854775807;",
    "partition:0,offset:-2,,;partition:00000000000000000000001,offset:+7",
)
_INVALID: Final = (
    *("", " ", "\0", "\ud800", "'", "\n", "\u0661\u0660 s", "\u00b2", "9" * 5000, "x" * 10_000, "${" * 3000),
    *("(" * 3000, "(a+)+$", "[" * 3000, "a{1,9999}" * 20),
)
_JAAS: Final = (
    f'org.apache.kafka.common.security.scram.ScramLoginModule required username="shop" password="{PLANTED}";',
    f"org.apache.kafka.common.security.plain.PlainLoginModule required username='shop' password='{PLANTED}' ;",
    f'o.a.k.OAuthBearerLoginModule required clientId="shop" clientSecret="{PLANTED}" scope="kafka" extension_a="b";',
    'x.Krb5LoginModule required useKeyTab=true keyTab="/etc/k" principal="a/b@C" serviceName=kafka;',
    f'PlainLoginModule required // words\n username=${{env:USER}} /* more */ password="\\"{PLANTED}";',
)


@cache
def _keys() -> tuple[list[str], list[str], dict[str, list[str]]]:
    connector = sorted(
        {key for option in (*opt.KAFKA_OPTIONS, *opt.UPSERT_OPTIONS, *opt.DYNAMIC_OPTIONS) for key in option.keys}
    )
    formats = {name: [key for option in FORMATS[name].options for key in option.keys] for name in FORMATS}
    return connector, sorted({*JAVA_PROPERTIES, *OWN_PROPERTIES}), formats


def _value(rng: random.Random) -> str:
    chance = rng.random()
    if chance < 0.35:
        return rng.choice(_VALID)
    if chance < 0.5:
        return rng.choice(_INVALID)
    if chance < 0.501:
        return lengthen(rng, rng.choice(_VALID), 20_000)
    return mutate_text(rng, rng.choice(_VALID), _VALID)


def fuzz_options(rng: random.Random) -> str:
    """Define a table with a few mutated options."""
    connector, java, formats = _keys()
    name = rng.choice(sorted(formats))
    options = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "format": name}
    key = None
    if rng.random() < 0.3:
        options |= {"connector": "upsert-kafka", "value.format": name, "key.format": "json"}
        del options["format"]
        key = ("id",)
    if rng.random() < 0.2:
        options["properties.group.id"] = "g"
    for _ in range(rng.randint(1, 4)):
        choice = rng.random()
        if choice < 0.5:
            options[rng.choice(connector)] = _value(rng)
        elif choice < 0.75 and formats[name]:
            prefix = "value." if "value.format" in options else ""
            options[prefix + rng.choice(formats[name])] = _value(rng)
        elif choice < 0.97:
            options[f"properties.{rng.choice(java)}"] = _value(rng)
        else:
            options[mutate_text(rng, rng.choice(connector), connector)] = _value(rng)
    secrets = [k for k in options if is_secret(k)]
    for k in secrets:
        options[k] = PLANTED + options[k]
    try:
        definition = validate_table(Table(("t",), _COLUMNS, options, primary_key=key or ()))
        if "confluent" not in name:
            definition.value.create_decoder(_SCHEMA)
            definition.value.create_encoder(_SCHEMA)
        with contextlib.suppress(KafkaSqlError):
            resolve_config(definition.client_config)
    except OptionError as e:
        require(PLANTED not in str(e), options)
        return e.condition().lower()
    except KafkaSqlError as e:
        require(PLANTED not in str(e), options)
        return type(e).__name__
    assert PLANTED not in repr(definition)
    return "defined"


def fuzz_offsets(rng: random.Random) -> str:
    """Parse mutated offsets, which rarely pass the checks of other options."""
    text = mutate_text(rng, rng.choice(_OFFSETS), ("partition", "offset", "topic", ":", ",", ";", "0", "-2", "a.b"))
    try:
        parsed = parse_specific_offsets(text, "k")
    except InvalidOptionError:
        return "rejected"
    named = fill_in_topic(parsed, ("t",))
    assert all(0 <= partition < 1 << 31 and -3 <= offset < 1 << 63 for (_, partition), offset in named.items())
    return "read"


def fuzz_jaas(rng: random.Random) -> str:
    """Parse a mutated JAAS configuration."""
    words = ("username", "password", "=", ";", '"', "'", "required", "optional", "\\", "/*", "*/", "${env:HOME}", "${")
    text = mutate_text(rng, rng.choice(_JAAS), words)
    if rng.random() < 0.002:
        text = lengthen(rng, text, 20_000)
    try:
        login = parse_jaas(text)
        quoted = " ".join(f'"{_escaped(k)}"="{_escaped(v)}"' for k, v in login.options.items())
        assert parse_jaas(f'"x.{_escaped(login.name)}" required {quoted};').options == login.options
        to_librdkafka_options(login)
    except OptionError as e:
        require(PLANTED not in str(e), text)
        return e.condition().lower()
    assert PLANTED not in repr(login)
    return "read"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


@contextlib.contextmanager
def suppress_warnings() -> Iterator[None]:
    """Suppress warnings about ignored options; there would be millions."""
    log = logging.getLogger("kafka_sql")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)
