"""Values that mean the same in Java's client and in librdkafka, and are written otherwise."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Final

from kafka_sql.errors import InvalidOptionError, UnsupportedOptionError
from kafka_sql.kafka.config.jaas import parse_jaas, to_librdkafka_options
from kafka_sql.options.secret_references import is_reference

_LOG = logging.getLogger("kafka_sql.kafka")

JAAS: Final = "sasl.jaas.config"

# librdkafka's smallest and greatest value (its CONFIGURATION.md); Java's clients take more
RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "batch.size": (1, 2147483647),
    "connections.max.idle.ms": (0, 2147483647),
    "fetch.max.bytes": (0, 2147483135),
    "fetch.min.bytes": (1, 100000000),
    "fetch.wait.max.ms": (0, 300000),
    "max.partition.fetch.bytes": (1, 1000000000),
    "max.poll.interval.ms": (1, 86400000),
    "message.max.bytes": (1000, 1000000000),
    "metadata.max.age.ms": (1, 86400000),
    "queue.buffering.max.kbytes": (1, 2147483647),
    "reconnect.backoff.max.ms": (0, 3600000),
    "reconnect.backoff.ms": (0, 3600000),
    "retry.backoff.max.ms": (1, 300000),
    "retry.backoff.ms": (1, 300000),
    "session.timeout.ms": (1, 3600000),
    "socket.connection.setup.timeout.ms": (1000, 2147483647),
    "socket.receive.buffer.bytes": (0, 100000000),
    "socket.send.buffer.bytes": (0, 100000000),
    "socket.timeout.ms": (10, 300000),
}
_SPECIAL: Final = {  # Java's -1 is the system's, or never
    "connections.max.idle.ms": "0",
    "socket.receive.buffer.bytes": "0",
    "socket.send.buffer.bytes": "0",
}
_RETRIEVERS: Final = {
    "DefaultJwtRetriever": "",
    "ClientCredentialsJwtRetriever": "client_credentials",
    "JwtBearerJwtRetriever": "urn:ietf:params:oauth:grant-type:jwt-bearer",
}
_DIGITS: Final = re.compile(r"0*\d{1,19}", re.ASCII)
_HANDLER: Final = "OAuthBearerLoginCallbackHandler"


def parse_digits(text: str) -> int | None:
    """A number of digits alone, as far as Java's long goes; None for all else."""
    number = int(text) if _DIGITS.fullmatch(text) else None
    return number if number is not None and number < 1 << 63 else None


def clamp_to_range(java: str, key: str, value: str) -> str:
    """A number as librdkafka takes it; what Java's client would not take either is left for librdkafka to refuse.

    Args:
        java: Java's name, for the warning.
        key: librdkafka's.
    """
    text = value.strip()
    if key not in RANGES or parse_digits(text.removeprefix("-")) is None:
        return value
    if text == "-1" and key in _SPECIAL:
        return _SPECIAL[key]
    low, high = RANGES[key]
    number = int(text)
    near = min(max(number, low), high)
    if number < 0 or near == number:
        return value
    _LOG.warning("option 'properties.%s' is %s: librdkafka's nearest is %s", java, number, near)
    return str(near)


def convert(given: Mapping[str, str]) -> dict[str, str]:
    """librdkafka's options for those of Java's properties that are converted together; the stores stay as they are.

    Args:
        given: all of a table's properties, in Java's names.

    Raises:
        OptionError: one that cannot be carried.
    """
    found: dict[str, str] = {}
    codec = given.get("compression.type", "none")
    level = given.get(f"compression.{codec}.level")
    if level is not None:
        found["compression.level"] = level
    if "buffer.memory" in given:
        found["queue.buffering.max.kbytes"] = _kilobytes(given["buffer.memory"])
    if given.get("partitioner.ignore.keys", "").lower() == "true":
        found["partitioner"] = "random"
    if given.get("ssl.cipher.suites"):
        found["ssl.cipher.suites"] = _ciphers(given["ssl.cipher.suites"])
    strategy = given.get("auto.offset.reset")
    if strategy is not None:
        if strategy.startswith("by_duration"):
            raise UnsupportedOptionError(
                "Option 'properties.auto.offset.reset' = 'by_duration:...' is not supported: librdkafka has no such "
                "strategy. Write 'scan.startup.mode' = 'timestamp' and 'scan.startup.timestamp-millis' = '-1 hour'."
            )
        found["auto.offset.reset"] = "error" if strategy == "none" else strategy
    if "ssl.endpoint.identification.algorithm" in given:
        found["ssl.endpoint.identification.algorithm"] = given["ssl.endpoint.identification.algorithm"] or "none"
    return found | _bearer(given) | _login(given.get(JAAS, ""))


def _login(text: str) -> dict[str, str]:
    if not text:
        return {}
    # one that stands elsewhere as a whole is read where the client runs
    return {JAAS: text} if is_reference(text) else to_librdkafka_options(parse_jaas(text))


def _bearer(given: Mapping[str, str]) -> dict[str, str]:
    handler = given.get("sasl.login.callback.handler.class", "")
    retriever = given.get("sasl.oauthbearer.jwt.retriever.class", "")
    found: dict[str, str] = {}
    if handler:
        if handler.rpartition(".")[2] != _HANDLER:
            raise UnsupportedOptionError(
                f"Option 'properties.sasl.login.callback.handler.class' = '{handler}' is not supported: it names a "
                f"Java class, and there is no Java client here. There is {_HANDLER}, for OpenID Connect."
            )
        found["sasl.oauthbearer.method"] = "oidc"
    if retriever:
        name = retriever.rpartition(".")[2]
        if name not in _RETRIEVERS:
            raise UnsupportedOptionError(
                f"Option 'properties.sasl.oauthbearer.jwt.retriever.class' = '{retriever}' is not supported: it names "
                f"a Java class, and there is no Java client here. There are {', '.join(_RETRIEVERS)}."
            )
        found["sasl.oauthbearer.method"] = "oidc"
        if _RETRIEVERS[name]:
            found["sasl.oauthbearer.grant.type"] = _RETRIEVERS[name]
    mechanism = given.get("sasl.mechanism", given.get("sasl.mechanisms", "")).upper()
    if mechanism == "OAUTHBEARER" and "sasl.oauthbearer.token.endpoint.url" in given:
        found["sasl.oauthbearer.method"] = "oidc"  # Java's default handler does the same since 4.1
    return {} if "sasl.oauthbearer.method" in given else found


def _kilobytes(text: str) -> str:
    size = parse_digits(text.strip())
    if size is None:
        raise InvalidOptionError("Invalid value for option 'properties.buffer.memory': expected a number of bytes.")
    return clamp_to_range("buffer.memory", "queue.buffering.max.kbytes", str(size // 1024))


def _ciphers(text: str) -> str:
    """OpenSSL's names of cipher suites for those of TLS's registry, which Java has."""
    names = [name.strip() for name in text.replace(":", ",").split(",") if name.strip()]
    newest = [name for name in names if name.startswith("TLS_") and "_WITH_" not in name]
    others = [_cipher(name) for name in names if name not in newest]
    if newest and not others:
        raise UnsupportedOptionError(
            "Option 'properties.ssl.cipher.suites' names suites of TLS 1.3 only: OpenSSL has them on in any case, and "
            "librdkafka cannot turn TLS 1.2 off. Leave the option out, or name suites of TLS 1.2, too."
        )
    return ":".join(others)


def _cipher(name: str) -> str:
    if not name.startswith("TLS_") or "_WITH_" not in name:
        return name  # OpenSSL's already
    exchange, _, rest = name.removeprefix("TLS_").partition("_WITH_")
    rest = rest.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC_SHA", "_SHA")
    rest = rest.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305").replace("3DES_EDE_CBC", "DES_CBC3")
    return "-".join(part for part in (*([] if exchange == "RSA" else exchange.split("_")), *rest.split("_")))
