"""Declare the options of a format with a schema registry, with Flink's keys (AvroConfluentFormatOptions), and read
the registry's settings from them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError
from kafka_sql.options import Option, Options, string
from kafka_sql.options.secret_references import resolve
from kafka_sql.options.secrets import is_secret, mask_user_info
from kafka_sql.suggestions import did_you_mean

SCHEMA_TYPE_NAMES: Final = {"AVRO": "Avro", "JSON": "JSON", "PROTOBUF": "Protobuf"}
AUTO_REGISTER: Final = "auto.register.schemas"
_HEADER_PREFIX: Final = "request.header."


def _parse_urls(text: str) -> tuple[str, ...]:
    urls = tuple(part.strip().rstrip("/") for part in text.split(",") if part.strip())
    if not urls or not all(url.startswith(("http://", "https://", "${")) for url in urls):
        raise ValueError("expected 'http://host:port' or 'https://host:port', several separated by ','")
    return urls


def _map_parser(option: str) -> Callable[[str], dict[str, str]]:
    """Return a parser of a Map option.

    The text is 'key:value,key:value', or NUL and a JSON object, to which payload.py combines entries that are set as
    separate options. Errors do not show the text, because any value may be a secret.
    """

    def parse(text: str) -> dict[str, str]:
        if text.startswith("\0"):
            return dict(json.loads(text[1:]))
        pairs = [part.partition(":") for part in text.split(",")]
        if not all(key and colon for key, colon, _ in pairs):
            raise InvalidOptionError(
                f"Invalid value for option '{option}': expected 'key:value,key:value'.", option=option
            )
        entries = {key.strip(): value.strip() for key, _, value in pairs}
        for key in filter(is_secret, entries):
            raise InvalidOptionError(
                f"The option '{option}' contains '{key}', which would be shown. Set it as '{option}.{key}'.",
                option=option,
            )
        return entries

    return parse


@dataclass(frozen=True)
class RegistryOptions:
    """A format's options for its registry."""

    format: str  # the format's identifier
    schema_type: str  # the type of its schemas, as the registry names it: AVRO, JSON, PROTOBUF
    url: Option[tuple[str, ...]]
    subject: Option[str]
    schema: Option[str]
    # Flink's options for properties of the registry's Java client, by property
    client_properties: Mapping[str, Option[str]]
    properties: Option[dict[str, str]]  # the option for properties of the Java client

    @property
    def schema_type_name(self) -> str:
        """The schema type, for errors."""
        return SCHEMA_TYPE_NAMES[self.schema_type]

    @property
    def all(self) -> tuple[Option[Any], ...]:
        """All options."""
        return (self.url, self.subject, self.schema, *self.client_properties.values(), self.properties)


def declare_registry_options(name: str, schema_type: str, schema_doc: str) -> RegistryOptions:
    """Return the options of the format ``name``.

    Args:
        schema_doc: documentation of the format's option 'schema'.
    """
    return RegistryOptions(
        name,
        schema_type,
        Option(
            f"{name}.url",
            _parse_urls,
            "List<String>",
            "URLs of the schema registry, separated by ','. If one is unavailable, the next is tried.",
            required=True,
            deprecated_keys=(f"{name}.schema-registry.url",),
            is_destination=True,
        ),
        string(
            f"{name}.subject",
            "The subject under which a table registers its schema when it is written to, and whose latest schema a "
            "table without columns uses. By default '<topic>-value' or '<topic>-key' if the table has a single topic.",
            deprecated_keys=(f"{name}.schema-registry.subject",),
        ),
        string(f"{name}.schema", schema_doc, deprecated_keys=(f"{name}.schema-registry.schema",)),
        {
            "schema.registry.ssl.truststore.location": string(
                f"{name}.ssl.truststore.location",
                "File of the certificates to trust: JKS, PKCS12 or PEM.",
                is_destination=True,
            ),
            "schema.registry.ssl.truststore.password": string(
                f"{name}.ssl.truststore.password", "Password of the truststore."
            ),
            "schema.registry.ssl.keystore.location": string(
                f"{name}.ssl.keystore.location", "File of the client's key and certificate: JKS, PKCS12 or PEM."
            ),
            "schema.registry.ssl.keystore.password": string(
                f"{name}.ssl.keystore.password", "Password of the keystore."
            ),
            "basic.auth.credentials.source": string(
                f"{name}.basic-auth.credentials-source",
                f"Where user and password are: 'USER_INFO' (in '{name}.basic-auth.user-info') or 'URL'.",
            ),
            "basic.auth.user.info": string(f"{name}.basic-auth.user-info", "User and password: 'user:password'."),
            "bearer.auth.credentials.source": string(
                f"{name}.bearer-auth.credentials-source",
                f"Where the token is: 'STATIC_TOKEN' (in '{name}.bearer-auth.token').",
            ),
            "bearer.auth.token": string(f"{name}.bearer-auth.token", "A token for the registry."),
        },
        Option(
            f"{name}.properties",
            _map_parser(f"{name}.properties"),
            "Map",
            f"Other properties of the registry's Java client, such as '{name}.properties.auto.register.schemas'. "
            "docs/formats/avro-confluent.md lists the supported ones; the options above take precedence.",
            is_destination=True,
        ),
    )


@dataclass(frozen=True)
class RegistrySettings:
    """How to connect to a registry, with references to secrets resolved. Printing it shows no secrets."""

    format: str  # identifier of the table's format
    schema_type: str  # the type of its schemas
    urls: tuple[str, ...] = field(repr=False)  # may contain user and password
    user: str = field(default="", repr=False)  # ``user:password``, or empty
    token: str = field(default="", repr=False)
    truststore: str = ""
    truststore_password: str = field(default="", repr=False)
    keystore: str = ""
    keystore_password: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # names and values of additional headers
    # whether to register the table's schema when it is written to; if not, the subject must have it
    register: bool = True


def registry_settings(registry_options: RegistryOptions, options: Options) -> RegistrySettings:
    """Return the settings in a table's options, with references to secrets resolved.

    Raises:
        OptionError: a property is unknown, or authentication is incomplete.
    """
    prefix = registry_options.properties.key
    properties = options.get(registry_options.properties) or {}
    names = (*registry_options.client_properties, AUTO_REGISTER)
    for key in properties:
        if key not in names and not key.startswith(_HEADER_PREFIX):
            raise InvalidOptionError(
                f"Unsupported property '{prefix}.{key}'. Supported properties: {', '.join(names)}, {_HEADER_PREFIX}*."
                + did_you_mean(key, names),
                option=f"{prefix}.{key}",
            )
    resolved = {
        key: resolve(options.get(option) or properties.get(key, ""), f"{prefix}.{key}")
        for key, option in registry_options.client_properties.items()
    }
    _check_authentication(registry_options, resolved)
    register = properties.get(AUTO_REGISTER, "true").lower()
    if register not in ("true", "false"):
        key = f"{prefix}.{AUTO_REGISTER}"
        value = properties[AUTO_REGISTER]
        shown = f" '{value}'" if mask_user_info(value) == value else ""
        raise InvalidOptionError(f"Invalid value{shown} for option '{key}': expected 'true' or 'false'.", option=key)
    headers = [
        (key.removeprefix(_HEADER_PREFIX), resolve(value, f"{prefix}.{key}"))
        for key, value in properties.items()
        if key.startswith(_HEADER_PREFIX)
    ]
    return RegistrySettings(
        registry_options.format,
        registry_options.schema_type,
        urls=tuple(resolve(url, registry_options.url.key) for url in options[registry_options.url]),
        user=resolved["basic.auth.user.info"],
        token=resolved["bearer.auth.token"],
        truststore=resolved["schema.registry.ssl.truststore.location"],
        truststore_password=resolved["schema.registry.ssl.truststore.password"],
        keystore=resolved["schema.registry.ssl.keystore.location"],
        keystore_password=resolved["schema.registry.ssl.keystore.password"],
        headers=tuple(headers),
        register=register == "true",
    )


def _check_authentication(registry_options: RegistryOptions, values: Mapping[str, str]) -> None:
    """Raise OptionError if the properties for authentication are incomplete or contradict each other."""
    basic_source, bearer_source = values["basic.auth.credentials.source"], values["bearer.auth.credentials.source"]
    user, token = values["basic.auth.user.info"], values["bearer.auth.token"]
    keys = {name: option.key for name, option in registry_options.client_properties.items()}
    basic_key, user_key = keys["basic.auth.credentials.source"], keys["basic.auth.user.info"]
    bearer_key, token_key = keys["bearer.auth.credentials.source"], keys["bearer.auth.token"]
    if basic_source not in ("", "URL", "USER_INFO"):
        raise InvalidOptionError(
            f"Invalid value for option '{basic_key}': expected one of 'USER_INFO', 'URL'.", option=basic_key
        )
    if bearer_source not in ("", "STATIC_TOKEN"):
        raise InvalidOptionError(
            f"Invalid value for option '{bearer_key}': expected 'STATIC_TOKEN'.", option=bearer_key
        )
    if user and ":" not in user:
        raise InvalidOptionError(f"Invalid value for option '{user_key}': expected 'user:password'.", option=user_key)
    if basic_source == "USER_INFO" and not user:
        raise MissingOptionError(f"'{basic_key}' is 'USER_INFO', but '{user_key}' is missing.", option=user_key)
    if bearer_source and not token:
        raise MissingOptionError(
            f"'{bearer_key}' is '{bearer_source}', but '{token_key}' is missing.", option=token_key
        )
    if user and token:
        raise ConflictingOptionsError(f"'{user_key}' and '{token_key}' shouldn't be set together.", option=token_key)
