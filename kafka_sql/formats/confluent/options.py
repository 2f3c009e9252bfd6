"""The options of a format with a schema registry under Flink's keys (AvroConfluentFormatOptions), and the settings in
them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError, did_you_mean
from kafka_sql.options import Option, Options, string
from kafka_sql.options.secret_references import resolve
from kafka_sql.options.secrets import is_secret


def _urls(text: str) -> tuple[str, ...]:
    found = tuple(part.strip().rstrip("/") for part in text.split(",") if part.strip())
    if not found or not all(url.startswith(("http://", "https://", "${")) for url in found):
        raise ValueError("expected 'http://host:port' or 'https://host:port', several separated by ','")
    return found


def _map(option: str) -> Callable[[str], dict[str, str]]:
    """Reads a map in one text, or of entries that stood one by one (payload.py puts them together, after a NUL).

    The text itself is never shown: it may hold a secret, which its key alone would not tell.
    """

    def parse(text: str) -> dict[str, str]:
        if text.startswith("\0"):
            return dict(json.loads(text[1:]))
        pairs = [part.partition(":") for part in text.split(",")]
        if not all(key and colon for key, colon, _ in pairs):
            raise InvalidOptionError(
                f"Invalid value for option '{option}': expected 'key:value,key:value'.", option=option
            )
        found = {key.strip(): value.strip() for key, _, value in pairs}
        for key in filter(is_secret, found):
            raise InvalidOptionError(
                f"The option '{option}' holds '{key}', which would be shown. Give it as '{option}.{key}'.",
                option=option,
            )
        return found

    return parse


SCHEMA_TYPE_NAMES: Final = {"AVRO": "Avro", "JSON": "JSON", "PROTOBUF": "Protobuf"}


@dataclass(frozen=True)
class RegistryOptions:
    """The options that a format has of its registry.

    Attributes:
        format: the identifier.
        kind: of its schemas, in the registry's word: AVRO, JSON, PROTOBUF.
        java: Flink's options as the Java client's properties.
    """

    format: str
    schema_type: str
    url: Option[tuple[str, ...]]
    subject: Option[str]
    schema: Option[str]
    client_properties: Mapping[str, Option[str]]
    properties: Option[dict[str, str]]

    @property
    def schema_type_name(self) -> str:
        """The kind as errors say it."""
        return SCHEMA_TYPE_NAMES[self.schema_type]

    @property
    def all(self) -> tuple[Option[Any], ...]:
        """Every one of them."""
        return (self.url, self.subject, self.schema, *self.client_properties.values(), self.properties)


def declare_registry_options(name: str, kind: str, schema: str) -> RegistryOptions:
    """The options of the format ``name``.

    Args:
        schema: what the format's option 'schema' is, for its documentation.
    """
    return RegistryOptions(
        name,
        kind,
        Option(
            f"{name}.url",
            _urls,
            "List<String>",
            "Where the schema registry is; several separated by ',' are asked in turn.",
            required=True,
            deprecated_keys=(f"{name}.schema-registry.url",),
        ),
        string(
            f"{name}.subject",
            "The subject under which a table registers its schema when it is written to, and whose latest schema a "
            "table without columns takes. By default '<topic>-value' or '<topic>-key' where the table has one topic.",
            deprecated_keys=(f"{name}.schema-registry.subject",),
        ),
        string(f"{name}.schema", schema, deprecated_keys=(f"{name}.schema-registry.schema",)),
        {
            "schema.registry.ssl.truststore.location": string(
                f"{name}.ssl.truststore.location", "File of the certificates to trust: JKS, PKCS12 or PEM."
            ),
            "schema.registry.ssl.truststore.password": string(
                f"{name}.ssl.truststore.password", "Password of that file."
            ),
            "schema.registry.ssl.keystore.location": string(
                f"{name}.ssl.keystore.location", "File of the client's key and certificate: JKS, PKCS12 or PEM."
            ),
            "schema.registry.ssl.keystore.password": string(f"{name}.ssl.keystore.password", "Password of that file."),
            "basic.auth.credentials.source": string(
                f"{name}.basic-auth.credentials-source",
                f"Where user and password stand: 'USER_INFO' (in '{name}.basic-auth.user-info') or 'URL'.",
            ),
            "basic.auth.user.info": string(f"{name}.basic-auth.user-info", "User and password: 'user:password'."),
            "bearer.auth.credentials.source": string(
                f"{name}.bearer-auth.credentials-source", "'STATIC_TOKEN': the token is given here."
            ),
            "bearer.auth.token": string(f"{name}.bearer-auth.token", "A token for the registry."),
        },
        Option(
            f"{name}.properties",
            _map(f"{name}.properties"),
            "Map",
            f"Other properties of the registry's Java client: '{name}.properties.auto.register.schemas' = 'false'. "
            "Those that are known here stand in docs/formats/avro-confluent.md; the options above count more.",
        ),
    )


AUTO_REGISTER: Final = "auto.register.schemas"
_HEADER: Final = "request.header."


@dataclass(frozen=True)
class RegistrySettings:
    """How to speak to a registry. Secrets are references or texts, and are never printed.

    Attributes:
        format: the identifier of the format that asks.
        kind: of the schemas that it asks for.
        user: ``user:password``, or nothing.
        headers: names and values of more headers.
        register: whether a schema is registered when it is written; else it must be there.
    """

    format: str
    schema_type: str
    urls: tuple[str, ...]
    user: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    truststore: str = ""
    truststore_password: str = field(default="", repr=False)
    keystore: str = ""
    keystore_password: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    register: bool = True


def registry_settings(known: RegistryOptions, options: Options) -> RegistrySettings:
    """The settings of a table's options, references to secrets resolved.

    Raises:
        OptionError: a property is unknown, or authentication is told in part.
    """
    prefix = known.properties.key
    properties = options.get(known.properties) or {}
    names = (*known.client_properties, AUTO_REGISTER)
    for key in properties:
        if key not in names and not key.startswith(_HEADER):
            raise InvalidOptionError(
                f"The property '{prefix}.{key}' is not known. Known are: {', '.join(names)}, {_HEADER}*."
                + did_you_mean(key, names),
                option=f"{prefix}.{key}",
            )
    java = {key: options.get(option) or properties.get(key, "") for key, option in known.client_properties.items()}
    java = {key: resolve(value, f"{prefix}.{key}") for key, value in java.items()}
    _check(known, java)
    register = properties.get(AUTO_REGISTER, "true").lower()
    if register not in ("true", "false"):
        key = f"{prefix}.{AUTO_REGISTER}"
        raise InvalidOptionError(
            f"Invalid value '{register}' for option '{key}': expected 'true' or 'false'.", option=key
        )
    return RegistrySettings(
        known.format,
        known.schema_type,
        urls=tuple(resolve(url, known.url.key) for url in options[known.url]),
        user=java["basic.auth.user.info"],
        token=java["bearer.auth.token"],
        truststore=java["schema.registry.ssl.truststore.location"],
        truststore_password=java["schema.registry.ssl.truststore.password"],
        keystore=java["schema.registry.ssl.keystore.location"],
        keystore_password=java["schema.registry.ssl.keystore.password"],
        headers=tuple((k.removeprefix(_HEADER), v) for k, v in properties.items() if k.startswith(_HEADER)),
        register=register == "true",
    )


def _check(known: RegistryOptions, java: Mapping[str, str]) -> None:
    basic, bearer = java["basic.auth.credentials.source"], java["bearer.auth.credentials.source"]
    user, token = java["basic.auth.user.info"], java["bearer.auth.token"]
    keys = {name: option.key for name, option in known.client_properties.items()}
    basic_key, user_key = keys["basic.auth.credentials.source"], keys["basic.auth.user.info"]
    bearer_key, token_key = keys["bearer.auth.credentials.source"], keys["bearer.auth.token"]
    if basic not in ("", "URL", "USER_INFO"):
        raise InvalidOptionError(
            f"Invalid value '{basic}' for option '{basic_key}': expected one of 'USER_INFO', 'URL'.", option=basic_key
        )
    if bearer not in ("", "STATIC_TOKEN"):
        raise InvalidOptionError(
            f"Invalid value '{bearer}' for option '{bearer_key}': expected 'STATIC_TOKEN'.", option=bearer_key
        )
    if user and ":" not in user:
        raise InvalidOptionError(f"Invalid value for option '{user_key}': expected 'user:password'.", option=user_key)
    if basic == "USER_INFO" and not user:
        raise MissingOptionError(f"'{basic_key}' is 'USER_INFO', but '{user_key}' is missing.", option=user_key)
    if bearer and not token:
        raise MissingOptionError(f"'{bearer_key}' is '{bearer}', but '{token_key}' is missing.", option=token_key)
    if user and token:
        raise ConflictingOptionsError(f"'{user_key}' and '{token_key}' shouldn't be set together.", option=token_key)
