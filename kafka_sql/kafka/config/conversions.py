"""Convert property values that Java's clients and librdkafka write differently."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import UnsupportedOptionError
from kafka_sql.kafka.config.jaas import JAAS, parse_jaas, to_librdkafka_options
from kafka_sql.kafka.config.java_values import INT_MAX, invalid_value
from kafka_sql.kafka.config.sasl import sasl_mechanism
from kafka_sql.kafka.config.token_providers import convert_handlers
from kafka_sql.options.secret_references import has_reference, is_reference
from kafka_sql.options.secrets import mask_user_info

_LOG = logging.getLogger("kafka_sql.kafka")

_JWT_RETRIEVERS: Final = {
    "DefaultJwtRetriever": "",
    "ClientCredentialsJwtRetriever": "client_credentials",
    "JwtBearerJwtRetriever": "urn:ietf:params:oauth:grant-type:jwt-bearer",
}
TLS_1_3_ONLY: Final = "PSK-AES128-GCM-SHA256"
"""Cipher suites for TLS 1.3 only. This suite of TLS 1.2 needs a pre-shared key, which neither client has, so OpenSSL
offers no suite of TLS 1.2. librdkafka has no option for the TLS version, and requires a suite of TLS 1.2 or older."""
_TLS_VERSIONS: Final = {name.lower(): name for name in ("TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1")}
_DIGITS: Final = re.compile(r"0*\d{1,19}", re.ASCII)


def parse_digits(text: str) -> int | None:
    """Return the value of a string of digits within the range of Java's long, else None."""
    number = int(text) if _DIGITS.fullmatch(text) else None
    return number if number is not None and number < 1 << 63 else None


def clamp_to_range(key: str, limits: tuple[int, int], value: str) -> str:
    """Return a number clamped to librdkafka's range."""
    number = parse_digits(value.strip().removeprefix("-"))
    if number is None:  # a reference
        return value
    if value.strip() == "-1":  # Java's system default, or never
        return "0"
    clamped = min(max(number, limits[0]), limits[1])
    if clamped == number:
        return value
    _LOG.warning("option 'properties.%s' = %s is out of librdkafka's range: using %s", key, number, clamped)
    return str(clamped)


def convert_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's options for the properties that need a conversion, except key and trust stores.

    Args:
        properties: all properties of a table, with Java's names and normalized values.

    Raises:
        OptionError: a property cannot be converted.
    """
    config: dict[str, str] = {}
    codec = properties.get("compression.type", "none")
    level = properties.get(f"compression.{codec}.level")
    if level is not None:
        config["compression.level"] = level
    if "buffer.memory" in properties:
        config["queue.buffering.max.kbytes"] = _kilobytes(properties["buffer.memory"])
    if properties.get("partitioner.ignore.keys", "").lower() == "true":
        config["partitioner"] = "random"
    strategy = properties.get("auto.offset.reset")
    if strategy is not None:
        if strategy.startswith("by_duration"):
            raise UnsupportedOptionError(
                "Option 'properties.auto.offset.reset' = 'by_duration:...' is not supported by librdkafka. "
                "Use 'scan.startup.mode' = 'timestamp' and 'scan.startup.timestamp-millis' = '-1 hour'.",
                option="properties.auto.offset.reset",
            )
        config["auto.offset.reset"] = "error" if strategy == "none" else strategy
    config |= _tls_versions(properties.get("ssl.enabled.protocols", ""))
    return config | _oauth_bearer(properties) | _login(properties)


def _login(properties: Mapping[str, str]) -> dict[str, str]:
    jaas = properties.get(JAAS, "")
    if not jaas:
        return {}
    if is_reference(jaas):  # to the whole string: it is resolved where the client runs
        return {JAAS: jaas}
    is_known = not any(has_reference(properties.get(key, "")) for key in ("sasl.mechanism", "sasl.mechanisms"))
    return to_librdkafka_options(parse_jaas(jaas), sasl_mechanism(properties) if is_known else None)


def _oauth_bearer(properties: Mapping[str, str]) -> dict[str, str]:
    retriever = properties.get("sasl.oauthbearer.jwt.retriever.class", "")
    config = convert_handlers(properties)
    if retriever:
        name = retriever.rpartition(".")[2]
        if name not in _JWT_RETRIEVERS:
            raise UnsupportedOptionError(
                f"Option 'properties.sasl.oauthbearer.jwt.retriever.class' = '{mask_user_info(retriever)}' is not "
                f"supported: it is a Java class. Supported: {', '.join(_JWT_RETRIEVERS)}.",
                option="properties.sasl.oauthbearer.jwt.retriever.class",
            )
        config["sasl.oauthbearer.method"] = "oidc"
        if _JWT_RETRIEVERS[name]:
            config["sasl.oauthbearer.grant.type"] = _JWT_RETRIEVERS[name]
    mechanism = properties.get("sasl.mechanism", properties.get("sasl.mechanisms"))
    if mechanism == "OAUTHBEARER" and "sasl.oauthbearer.token.endpoint.url" in properties:
        config["sasl.oauthbearer.method"] = "oidc"  # as Java's default handler since 4.1
    if "sasl.oauthbearer.method" in properties:
        config.pop("sasl.oauthbearer.method", None)
        config.pop("sasl.oauthbearer.grant.type", None)
    return config


def _tls_versions(text: str) -> dict[str, str]:
    """Return the option that disables TLS 1.2, if only TLS 1.3 is enabled. Older versions are always disabled."""
    names = {name.strip() for name in text.split(",") if name.strip()}
    versions = {_TLS_VERSIONS.get(name.lower()) for name in names}
    if None in versions or (versions and not versions & {"TLSv1.3", "TLSv1.2"}):
        expected = "'TLSv1.3', 'TLSv1.2' or 'TLSv1.2,TLSv1.3'. Older versions are not supported"
        raise invalid_value("ssl.enabled.protocols", text, expected)
    return {"ssl.cipher.suites": TLS_1_3_ONLY} if versions and "TLSv1.2" not in versions else {}


def _kilobytes(text: str) -> str:
    size = parse_digits(text.strip())
    if size is None:
        raise invalid_value("buffer.memory", text, "a number of bytes")
    return clamp_to_range("buffer.memory", (1, INT_MAX), str(size // 1024))


def to_openssl_ciphers(text: str) -> str:
    """Convert names of cipher suites in the TLS registry, which Java uses, to OpenSSL's; keep OpenSSL's.

    Raises:
        UnsupportedOptionError: all suites are those of TLS 1.3, which are always enabled.
    """
    names = [name.strip() for name in text.replace(":", ",").split(",") if name.strip()]
    tls_13 = [name for name in names if name.startswith("TLS_") and "_WITH_" not in name]
    tls_12 = [_openssl_name(name) for name in names if name not in tls_13]
    if tls_13 and not tls_12:
        raise UnsupportedOptionError(
            "Option 'properties.ssl.cipher.suites' lists suites of TLS 1.3 only, and all suites of TLS 1.3 are always "
            "enabled. Add suites of TLS 1.2, or replace the option with 'properties.ssl.enabled.protocols' = "
            "'TLSv1.3', which disables TLS 1.2.",
            option="properties.ssl.cipher.suites",
        )
    return ":".join(tls_12)


def _openssl_name(name: str) -> str:
    if not name.startswith("TLS_") or "_WITH_" not in name:
        return name  # already OpenSSL's
    exchange, _, cipher = name.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC_SHA", "_SHA")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305").replace("3DES_EDE_CBC", "DES_CBC3")
    return "-".join(part for part in (*([] if exchange == "RSA" else exchange.split("_")), *cipher.split("_")))
