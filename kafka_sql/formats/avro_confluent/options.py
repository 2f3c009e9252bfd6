"""The options of avro-confluent under Flink's keys (AvroConfluentFormatOptions), and the settings in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError, did_you_mean
from kafka_sql.options import Option, Options, string
from kafka_sql.options.references import resolve
from kafka_sql.options.secrets import is_secret

_NAME: Final = "avro-confluent"


def _urls(text: str) -> tuple[str, ...]:
    found = tuple(part.strip().rstrip("/") for part in text.split(",") if part.strip())
    if not found or not all(url.startswith(("http://", "https://", "${")) for url in found):
        raise ValueError("expected 'http://host:port' or 'https://host:port', several separated by ','")
    return found


def _map(text: str) -> dict[str, str]:
    """A map in one text, or of entries that stood one by one (payload.py puts them together, after a NUL).

    The text itself is never shown: it may hold a secret, which its key alone would not tell.
    """
    if text.startswith("\0"):
        return dict(json.loads(text[1:]))
    pairs = [part.partition(":") for part in text.split(",")]
    if not all(key and colon for key, colon, _ in pairs):
        raise InvalidOptionError(f"Invalid value for option '{_NAME}.properties': expected 'key:value,key:value'.")
    found = {key.strip(): value.strip() for key, _, value in pairs}
    for key in filter(is_secret, found):
        raise InvalidOptionError(
            f"The option '{_NAME}.properties' holds '{key}', which would be shown. Give it as "
            f"'{_NAME}.properties.{key}'."
        )
    return found


URL: Final = Option(
    f"{_NAME}.url",
    _urls,
    "List<String>",
    "Where the schema registry is; several separated by ',' are asked in turn.",
    required=True,
    deprecated=(f"{_NAME}.schema-registry.url",),
)
SUBJECT: Final = string(
    f"{_NAME}.subject",
    "The subject under which a table registers its schema when it is written to, and whose latest schema a table "
    "without columns takes. By default '<topic>-value' or '<topic>-key' where the table has one topic.",
    deprecated=(f"{_NAME}.schema-registry.subject",),
)
SCHEMA: Final = string(
    f"{_NAME}.schema",
    "An Avro schema for reading and writing, whose fields are the table's columns in their order. By default it is "
    "derived from the columns.",
    deprecated=(f"{_NAME}.schema-registry.schema",),
)
TRUSTSTORE: Final = string(f"{_NAME}.ssl.truststore.location", "File of the certificates to trust: PEM or PKCS12.")
TRUSTSTORE_PASSWORD: Final = string(f"{_NAME}.ssl.truststore.password", "Password of that file.")
KEYSTORE: Final = string(f"{_NAME}.ssl.keystore.location", "File of the client's key and certificate: PEM or PKCS12.")
KEYSTORE_PASSWORD: Final = string(f"{_NAME}.ssl.keystore.password", "Password of that file.")
BASIC_SOURCE: Final = string(
    f"{_NAME}.basic-auth.credentials-source",
    "Where user and password stand: 'USER_INFO' (in 'avro-confluent.basic-auth.user-info') or 'URL'.",
)
BASIC_USER: Final = string(f"{_NAME}.basic-auth.user-info", "User and password: 'user:password'.")
BEARER_SOURCE: Final = string(f"{_NAME}.bearer-auth.credentials-source", "'STATIC_TOKEN': the token is given here.")
BEARER_TOKEN: Final = string(f"{_NAME}.bearer-auth.token", "A token for the registry.")
PROPERTIES: Final = Option(
    f"{_NAME}.properties",
    _map,
    "Map",
    "Other properties of the registry's Java client: 'avro-confluent.properties.auto.register.schemas' = 'false'. "
    "Those that are known here stand in docs/formats/avro-confluent.md; the options above count more.",
)

AVRO_CONFLUENT_OPTIONS: Final[tuple[Option[Any], ...]] = (
    URL,
    SUBJECT,
    SCHEMA,
    TRUSTSTORE,
    TRUSTSTORE_PASSWORD,
    KEYSTORE,
    KEYSTORE_PASSWORD,
    BASIC_SOURCE,
    BASIC_USER,
    BEARER_SOURCE,
    BEARER_TOKEN,
    PROPERTIES,
)

# Flink's options as the Java client's properties
_JAVA: Final = {
    "basic.auth.credentials.source": BASIC_SOURCE,
    "basic.auth.user.info": BASIC_USER,
    "bearer.auth.credentials.source": BEARER_SOURCE,
    "bearer.auth.token": BEARER_TOKEN,
    "schema.registry.ssl.truststore.location": TRUSTSTORE,
    "schema.registry.ssl.truststore.password": TRUSTSTORE_PASSWORD,
    "schema.registry.ssl.keystore.location": KEYSTORE,
    "schema.registry.ssl.keystore.password": KEYSTORE_PASSWORD,
}
AUTO_REGISTER: Final = "auto.register.schemas"
_KNOWN: Final = (*_JAVA, AUTO_REGISTER)
_HEADER: Final = "request.header."


@dataclass(frozen=True)
class Settings:
    """How to speak to a registry. Secrets are references or texts, and are never printed.

    Attributes:
        user: ``user:password``, or nothing.
        headers: names and values of more headers.
        register: whether a schema is registered when it is written; else it must be there.
    """

    urls: tuple[str, ...]
    user: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    truststore: str = ""
    truststore_password: str = field(default="", repr=False)
    keystore: str = ""
    keystore_password: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    register: bool = True


def settings(options: Options) -> Settings:
    """The settings of a table's options, references to secrets resolved.

    Raises:
        OptionError: a property is unknown, or authentication is told in part.
    """
    properties = options.get(PROPERTIES) or {}
    for key in properties:
        if key not in _KNOWN and not key.startswith(_HEADER):
            raise InvalidOptionError(
                f"The property '{PROPERTIES.key}.{key}' is not known. Known are: {', '.join(_KNOWN)}, {_HEADER}*."
                + did_you_mean(key, _KNOWN)
            )
    java = {key: options.get(option) or properties.get(key, "") for key, option in _JAVA.items()}
    java = {key: resolve(value, f"{PROPERTIES.key}.{key}") for key, value in java.items()}
    user, token = java["basic.auth.user.info"], java["bearer.auth.token"]
    _check(java, user, token)
    register = properties.get(AUTO_REGISTER, "true").lower()
    if register not in ("true", "false"):
        key = f"{PROPERTIES.key}.{AUTO_REGISTER}"
        raise InvalidOptionError(f"Invalid value '{register}' for option '{key}': expected 'true' or 'false'.")
    return Settings(
        urls=tuple(resolve(url, URL.key) for url in options[URL]),
        user=user,
        token=token,
        truststore=java["schema.registry.ssl.truststore.location"],
        truststore_password=java["schema.registry.ssl.truststore.password"],
        keystore=java["schema.registry.ssl.keystore.location"],
        keystore_password=java["schema.registry.ssl.keystore.password"],
        headers=tuple((k.removeprefix(_HEADER), v) for k, v in properties.items() if k.startswith(_HEADER)),
        register=register == "true",
    )


def _check(java: Mapping[str, str], user: str, token: str) -> None:
    basic, bearer = java["basic.auth.credentials.source"], java["bearer.auth.credentials.source"]
    if basic not in ("", "URL", "USER_INFO"):
        raise InvalidOptionError(
            f"Invalid value '{basic}' for option '{BASIC_SOURCE.key}': expected one of 'USER_INFO', 'URL'."
        )
    if bearer not in ("", "STATIC_TOKEN"):
        raise InvalidOptionError(f"Invalid value '{bearer}' for option '{BEARER_SOURCE.key}': expected 'STATIC_TOKEN'.")
    if user and ":" not in user:
        raise InvalidOptionError(f"Invalid value for option '{BASIC_USER.key}': expected 'user:password'.")
    if basic == "USER_INFO" and not user:
        raise MissingOptionError(f"'{BASIC_SOURCE.key}' is 'USER_INFO', but '{BASIC_USER.key}' is missing.")
    if bearer and not token:
        raise MissingOptionError(f"'{BEARER_SOURCE.key}' is '{bearer}', but '{BEARER_TOKEN.key}' is missing.")
    if user and token:
        raise ConflictingOptionsError(f"'{BASIC_USER.key}' and '{BEARER_TOKEN.key}' shouldn't be set together.")
