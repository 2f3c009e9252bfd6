"""Check the credentials of a table: who can read them on the way and on this machine, and whether tokens are created.

Loopback addresses are exempt: what is sent to them does not leave the machine. A reference to a secret that cannot be
resolved raises a KafkaSqlError.
"""

from __future__ import annotations

import ipaddress
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from kafka_sql.checks.finding import Finding, run_check
from kafka_sql.definition import Definition
from kafka_sql.errors import AuthenticationError, KafkaSqlError
from kafka_sql.formats.payload import Payload
from kafka_sql.kafka.config import sasl
from kafka_sql.kafka.config.normalization import HOST_NAME_CHECK
from kafka_sql.kafka.config.properties import connect_timeout, resolve_config
from kafka_sql.kafka.config.token_providers import describe_provider
from kafka_sql.kafka.protocol.addresses import parse_address
from kafka_sql.kafka.protocol.token_cache import get_valid_token
from kafka_sql.options.secret_references import resolve
from kafka_sql.options.secrets import is_secret
from kafka_sql.runtime.private_files import is_accessible_by_others

_VERIFICATION = "enable.ssl.certificate.verification"
_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
# what a login reveals to an eavesdropper, and to a server that pretends to be the broker
_EXPOSED = {
    "PLAIN": "the password is sent in clear text",
    "OAUTHBEARER": "the token is sent in clear text",
    "SCRAM-SHA-256": "an eavesdropper, or a server that pretends to be the broker, can try to guess the password",
    "SCRAM-SHA-512": "an eavesdropper, or a server that pretends to be the broker, can try to guess the password",
}


def check_encryption(definition: Definition, clusters: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    """Warn about connections to brokers, token endpoints and schema registries that reveal credentials or data.

    Args:
        clusters: the clients' configuration for each cluster of the table, by its id; empty for the only one.

    Raises:
        KafkaSqlError: a reference to a secret cannot be resolved.
    """
    messages = []
    for cluster, config in clusters.items():
        prefix = f"cluster '{cluster}': " if cluster else ""
        messages += [prefix + message for message in _exposures(resolve_config(config))]
    for part, payload in (("key", definition.key), ("value", definition.value)):
        if payload is not None and _registry_is_exposed(payload):
            messages.append(
                f"the credentials for the registry of the {part} are sent in clear text. Use a URL with https:// in "
                f"'{payload.format.identifier}.url'"
            )
    for message in messages:
        yield Finding(definition.name, "encryption", True, message, is_warning=True)


def _exposures(config: Mapping[str, str]) -> Iterator[str]:
    servers = [parse_address(server, 0)[0] for server in config["bootstrap.servers"].split(",") if server.strip()]
    mechanism = sasl.sasl_mechanism(config) or ""
    protocol = config.get("security.protocol", "PLAINTEXT")
    if protocol == "SASL_PLAINTEXT" and mechanism in _EXPOSED and not _are_local(servers):
        yield f"{_EXPOSED[mechanism]}. Set 'properties.security.protocol' = 'SASL_SSL' if the brokers support it"
    if protocol.endswith("SSL") and not _are_local(servers):
        yield from _unverified_brokers(config)
    endpoint = urlsplit(config.get(_ENDPOINT, ""))
    if mechanism == "OAUTHBEARER" and endpoint.scheme.lower() == "http" and not _are_local([endpoint.hostname or ""]):
        yield f"the client secret is sent in clear text. Use a URL with https:// in 'properties.{_ENDPOINT}'"


def _unverified_brokers(config: Mapping[str, str]) -> Iterator[str]:
    consequence = "a server that pretends to be the broker gets what is sent to it"
    if config.get(_VERIFICATION) == "false":
        yield f"the brokers' certificates are not verified: {consequence}. Remove 'properties.{_VERIFICATION}'"
    elif config.get(HOST_NAME_CHECK) == "none":
        yield (
            "the host names in the brokers' certificates are not verified: with any certificate of a trusted "
            f"authority, {consequence}. Remove 'properties.{HOST_NAME_CHECK}'"
        )


def _registry_is_exposed(payload: Payload) -> bool:
    """Return whether credentials are sent to the format's schema registry, if it has one, over HTTP."""
    options = {option.key: payload.options.get(option) for option in payload.format.options}
    name = payload.format.identifier
    try:
        urls = [urlsplit(resolve(url, f"{name}.url")) for url in options.get(f"{name}.url") or ()]
    except KafkaSqlError:  # the check of the registry reports it
        return False
    remote = [url for url in urls if url.scheme == "http" and not _are_local([url.hostname or ""])]
    settings = {**options, **(options.get(f"{name}.properties") or {})}
    # passwords are those of key stores, which are not sent
    sent = [key for key, value in settings.items() if value and is_secret(key) and not key.endswith("password")]
    return bool(remote) and (bool(sent) or any(url.username or url.password for url in remote))


def _are_local(hosts: Iterable[str]) -> bool:
    return all(_is_loopback(host) for host in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_permissions(definition: Definition) -> Iterator[Finding]:
    """Warn about Kerberos files that other users can access: a keytab serves as a password, a ticket as a login.

    Neither MIT Kerberos nor librdkafka checks their modes.

    Raises:
        KafkaSqlError: a reference to a secret cannot be resolved.
    """
    config = resolve_config(definition.client_config)
    if sasl.sasl_mechanism(config) != "GSSAPI":
        return
    tickets = sasl.ticket_cache()
    files = {
        "the keytab of 'properties.sasl.jaas.config'": config.get("sasl.kerberos.keytab"),  # its name may be a secret
        f"the tickets in '{tickets}'": tickets,
    }
    for name, path in files.items():
        if path and _is_exposed(path):
            message = f"other users can read or write {name}. Run chmod 600 for the file, or 700 for a folder"
            yield Finding(definition.name, "permissions", True, message, is_warning=True)


def _is_exposed(path: str) -> bool:
    try:
        return is_accessible_by_others(os.stat(path))
    except OSError:  # a missing file fails the check of the authentication
        return False


def check_tokens(definition: Definition) -> Iterator[Finding]:
    """Get a token on this machine, if 'properties.sasl.oauthbearer.token-provider' is used. It is not shown."""
    provider = describe_provider(definition.client_config)
    if provider is not None:
        yield run_check(definition.name, "tokens", lambda: _check_token(definition, provider))


def _check_token(definition: Definition, provider: str) -> str:
    config = resolve_config(definition.client_config)
    try:
        lifetime = get_valid_token(config, connect_timeout(config)).expires_at - time.time()
    except OSError as e:
        raise AuthenticationError(f"{e}.") from None
    return f"{provider} returned a token, which expires in {lifetime:,.0f} s"
