"""Translate a table's ``properties.*`` to those of Java's Kafka clients, which Spark's connector creates.

Java creates the classes, runs the commands and reads the files that its properties name. Therefore, only listed
properties are passed, and what the allow lists restrict is checked or read on the driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_sql.definition import Definition, client_properties
from kafka_sql.kafka.config import security
from kafka_sql.kafka.config.jaas import JAAS, file_options, to_java_string
from kafka_sql.kafka.config.java_properties import REAL_TIME_PROPERTIES
from kafka_sql.kafka.config.normalization import HOST_NAME_CHECK, NORMALIZED_VALUES
from kafka_sql.kafka.config.properties import resolve_config
from kafka_sql.kafka.config.token_providers import HANDLER_KEYS, OIDC_HANDLER
from kafka_sql.options import allow_lists
from kafka_sql.options import connector as opt
from kafka_sql.options.secret_references import resolve_all
from kafka_sql.realtime.checks import check_property, property_error

_PEM: Final = "PEM"
_STORES: Final = ("ssl.truststore", "ssl.keystore")
_CONTENTS: Final = (security.TRUST_PEM, security.KEY_PEM, security.CHAIN_PEM)
_FILES: Final = (
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.template.file",
)
_CLASS_KEYS: Final = (*HANDLER_KEYS, "sasl.oauthbearer.jwt.retriever.class")
# of Java's client, in one package; the classes of clouds have the names that their tables give
_CLASSES: Final = (OIDC_HANDLER, "DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "JwtBearerJwtRetriever")
_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
_TLS_VERSIONS: Final = "ssl.enabled.protocols"
_TLS: Final = ("TLSv1.3", "TLSv1.2")


def java_properties(definition: Definition) -> dict[str, str]:
    """Return the table's ``properties.*`` under Java's names, with references to secrets resolved on the driver.

    Raises:
        UnsupportedOptionError: Java's clients do not have a property, or would read a file unchecked on executors.
        SecretReferenceError: a reference cannot be resolved.
        OptionError: as ``resolve_config``, which also applies the allow lists.
        KeyStoreError: a store cannot be read.
    """
    written = client_properties(definition.table.options)
    for key in written:
        check_property(definition, key)
    checked = resolve_config(definition.client_config)
    properties = {key: value for key, value in written.items() if key in REAL_TIME_PROPERTIES}
    properties = resolve_all(properties, opt.PROPERTIES_PREFIX)
    if allow_lists.allowed_entries(allow_lists.PATHS) is not None:
        _check_files(definition, properties)
        properties = _with_contents_of_stores(properties, checked)
    for key, values in NORMALIZED_VALUES.items():
        if key in properties:
            properties[key] = values.get(properties[key].strip().lower(), properties[key])
    if properties.get(HOST_NAME_CHECK) == "none":
        properties[HOST_NAME_CHECK] = ""  # Java's way to disable it
    if names := [name.strip().lower() for name in properties.get(_TLS_VERSIONS, "").split(",") if name.strip()]:
        properties[_TLS_VERSIONS] = ",".join(name for name in _TLS if name.lower() in names)  # not older ones
    for content in _CONTENTS:
        if content in properties:  # Java's default type is JKS, for which it requires a file
            properties.setdefault(f"{content[: content.index('store') + len('store')]}.type", _PEM)
    for key in _CLASS_KEYS:
        name = properties.get(key, "").strip().rpartition(".")[2]
        if name in _CLASSES:  # of any package in the table, which is not one that Java would load
            properties[key] = f"{_PACKAGE}.{name}"
    if properties.get(JAAS):
        properties[JAAS] = to_java_string(properties[JAAS])
    return properties


def _check_files(definition: Definition, properties: Mapping[str, str]) -> None:
    """Raise an error for a file that Java would read on executors, which do not ask their allow lists."""
    reason = "Java would read a file on executors without checking the allow lists"
    for key in _FILES:
        if properties.get(key):
            raise property_error(definition, key, reason)
    if properties.get(JAAS) and (names := file_options(properties[JAAS])):
        raise property_error(definition, JAAS, f"{reason} ({names[0]})")


def _with_contents_of_stores(properties: Mapping[str, str], checked: Mapping[str, str]) -> dict[str, str]:
    """Replace the stores by their contents in librdkafka's configuration, so that executors read no files."""
    contents = {}
    if properties.get(security.TRUST_STORE):
        contents = {security.TRUST_PEM: checked["ssl.ca.pem"]}
    if properties.get(security.KEY_STORE):
        contents |= {security.KEY_PEM: checked["ssl.key.pem"], security.CHAIN_PEM: checked["ssl.certificate.pem"]}
    replaced = [store for store in _STORES if any(key.startswith(f"{store}.") for key in contents)]
    if security.KEY_PEM in contents:
        replaced.append(security.KEY_PASSWORD)
    return {key: value for key, value in properties.items() if not key.startswith(tuple(replaced))} | contents
