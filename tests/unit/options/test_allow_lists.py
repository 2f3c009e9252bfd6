"""Test that options use only the modules, variables and URLs that the operator lists."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from kafka_sql.errors import InvalidOptionError, SecretReferenceError
from kafka_sql.formats.confluent.client import SchemaRegistry
from kafka_sql.formats.confluent.options import RegistrySettings
from kafka_sql.formats.custom import CustomFormat, RecordwiseDecoder
from kafka_sql.formats.registry import find_format
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka
from kafka_sql.kafka.librdkafka.client import open_client
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.options import Options
from kafka_sql.options.allow_lists import ALLOW_LISTS, MODULES, PATHS, URLS, VARIABLES, import_callable
from kafka_sql.options.secret_references import resolve
from kafka_sql.sink.partitioner import load_partitioner
from kafka_sql.source.client_config import task_client_config
from kafka_sql.source.enumerator.starting_offsets import call_offsets_initializer
from tests.batch_read import define_table
from tests.topics import Topics

RACKS = "tests.integration.source.reader.rack_functions"
FOLDER = os.path.dirname(__file__)
TOKEN_URL = "https://127.0.0.1:1/token"
OAUTH = {
    "bootstrap.servers": "127.0.0.1:1",
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "id",
    "sasl.oauthbearer.client.secret": "hunter2",
}

imported_function = partial(os.getcwd)
foreign_function = os.getcwd


@pytest.fixture(autouse=True)
def allow(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Start without allow lists. Return a function that sets them."""
    for name in ALLOW_LISTS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")

    def set_lists(**lists: str) -> None:
        for name, text in lists.items():
            monkeypatch.setenv(f"KAFKA_SQL_ALLOWED_{name}", text)

    return set_lists


def resolve_variable() -> str:
    return resolve("${env:SHOP_PASSWORD}", "o")


def read_rack(source: str) -> str | None:
    return task_client_config(define_table(Topics("localhost:1"), "t", scan_rack__id=source), 3).get("client.rack")


def connect_with_protocol_client(properties: dict[str, str]) -> None:
    ConnectionPool(to_librdkafka({**OAUTH, **properties})).connect_to(("127.0.0.1", 1))


def open_librdkafka(properties: dict[str, str]) -> None:
    open_client(Producer, to_librdkafka({**OAUTH, **properties}))


def open_registry(*urls: str) -> None:
    SchemaRegistry(RegistrySettings("avro-confluent", "AVRO", urls))


CLIENTS = (connect_with_protocol_client, open_librdkafka)
USES: dict[str, tuple[str, Callable[[], Any]]] = {
    "file": (PATHS, lambda: resolve(f"${{directory:{FOLDER}:test_allow_lists.py}}", "o")),
    "callable": (MODULES, lambda: import_callable("o", f"{RACKS}:b", "here")),
    "rack function": (MODULES, lambda: read_rack(f"{RACKS}:b")),
    "partitioner": (
        MODULES,
        lambda: load_partitioner(define_table(Topics("h:1"), "t", sink_partitioner=f"{__name__}:Partitioner")),
    ),
    "format": (MODULES, lambda: find_format(f"{__name__}:Numbers", "format")),
    "reference": (VARIABLES, resolve_variable),
    "rack variable": (VARIABLES, lambda: read_rack("env:SHOP_PASSWORD")),
    "registry": (URLS, lambda: open_registry("http://127.0.0.1:1")),
}
ENTRIES = {
    PATHS: FOLDER,
    MODULES: f"{RACKS},{__name__}",
    VARIABLES: "SHOP_PASSWORD",
    URLS: "http://127.0.0.1:1",
}
NOT_ALLOWED = (InvalidOptionError, SecretReferenceError)


class Partitioner:
    """A class for 'sink.partitioner'."""

    def partition(self) -> None:
        """Do nothing."""


class Numbers(CustomFormat):
    """A class for 'format'."""

    contract_version = 1
    identifier = "numbers"

    def create_decoder(self, schema: pa.Schema, options: Options) -> RecordwiseDecoder:
        """Never called."""
        raise NotImplementedError


@pytest.mark.parametrize("use", USES)
def test_lists_allow_only_their_entries(allow: Callable[..., None], use: str) -> None:
    """Once one list is set, the lists that are not set allow nothing."""
    variable, run = USES[use]
    run()
    for name in ALLOW_LISTS:
        if name != variable:
            allow(**{name.removeprefix("KAFKA_SQL_ALLOWED_"): ENTRIES[name]})
            with pytest.raises(NOT_ALLOWED, match=f"{variable} (does not )?allow") as raised:
                run()
            assert "hunter2" not in str(raised.value)
    allow(**{variable.removeprefix("KAFKA_SQL_ALLOWED_"): f"x{os.pathsep if variable == PATHS else ','}y"})
    with pytest.raises(NOT_ALLOWED):
        run()
    allow(**{variable.removeprefix("KAFKA_SQL_ALLOWED_"): ENTRIES[variable]})
    run()


@pytest.mark.parametrize(
    ("entries", "name", "is_allowed"),
    [
        ("SHOP_PASSWORD", "SHOP_PASSWORD", True),
        ("OTHER, SHOP_PASSWORD ,", "SHOP_PASSWORD", True),
        ("SHOP_*", "SHOP_PASSWORD", True),
        ("*", "SHOP_PASSWORD", True),
        ("", "SHOP_PASSWORD", False),
        ("SHOP", "SHOP_PASSWORD", False),
        ("shop_*", "SHOP_PASSWORD", False),
        ("SHOP_PASSWORD", "PATH", False),
    ],
)
def test_variables(allow: Callable[..., None], entries: str, name: str, is_allowed: bool) -> None:
    allow(VARIABLES=entries)
    if is_allowed:
        assert resolve(f"${{env:{name}}}", "o") == "hunter2"
    else:
        with pytest.raises(SecretReferenceError, match=f"not one of the environment variables that {VARIABLES} allows"):
            resolve(f"${{env:{name}}}", "o")


@pytest.mark.parametrize(
    ("entries", "text", "is_allowed"),
    [
        ("os", "os:getcwd", False),  # os imports it from posix
        ("os,posix", "os:getcwd", True),
        ("tests.integration", f"{RACKS}:b", True),
        ("tests.integration.source.reader.rack", f"{RACKS}:b", False),
        ("test", f"{RACKS}:b", False),
        ("", "os:getcwd", False),
        (RACKS, "http.server:test", False),
        (RACKS, f"{RACKS}:os.getcwd", False),
        (RACKS, f"{RACKS}:os.abort", False),
        (__name__, f"{__name__}:foreign_function", False),
        (__name__, f"{__name__}:imported_function", False),
        (__name__, f"{__name__}:Partitioner.partition", True),
    ],
)
def test_modules(allow: Callable[..., None], entries: str, text: str, is_allowed: bool) -> None:
    assert callable(import_callable("o", text, "here"))
    allow(MODULES=entries)
    if is_allowed:
        assert callable(import_callable("o", text, "here"))
    else:
        with pytest.raises(InvalidOptionError, match=rf"Option 'o' = '{text}': .*{MODULES}"):
            import_callable("o", text, "here")


def test_offsets_initializers_must_be_allowed(allow: Callable[..., None]) -> None:
    allow(PATHS="/")
    definition = define_table(Topics("h:1"), "t", scan_startup_offsets__initializer=f"{RACKS}:b")
    with pytest.raises(InvalidOptionError, match=f"{MODULES} does not allow module '{RACKS}'"):
        call_offsets_initializer(definition, None, [])  # type: ignore[arg-type]


@pytest.mark.parametrize("connect", CLIENTS)
@pytest.mark.parametrize("is_reference", [False, True])
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("sasl.oauthbearer.token.endpoint.url", TOKEN_URL),
        ("sasl.oauthbearer.token.endpoint.url", f"{TOKEN_URL}/../secret"),
        ("sasl.oauthbearer.token.endpoint.url", "https://127.0.0.1:1@other/token"),
        ("sasl.oauthbearer.metadata.authentication.type", "azure_imds"),
        ("sasl.oauthbearer.metadata.authentication.type", " Azure_IMDS"),
        ("sasl.oauthbearer.metadata.authentication.type", "aws_iam"),
        ("sasl.oauthbearer.config", "region=r,audience=a,sts_endpoint=https://127.0.0.1:1/sts"),
    ],
)
def test_endpoints_of_tokens(
    allow: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    connect: Callable[[dict[str, str]], None],
    option: str,
    value: str,
    is_reference: bool,
) -> None:
    allow(URLS="https://127.0.0.1:1,https://other/token", VARIABLES="SETTING")
    monkeypatch.setenv("SETTING", value)
    with pytest.raises(InvalidOptionError, match=rf"Option 'properties\.{option}': {URLS} does not allow the value"):
        connect({option: "${env:SETTING}" if is_reference else value})


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_tokens_of_clouds(allow: Callable[..., None], cloud: str) -> None:
    """They are for the identity of the machine, and a statement can send them to any broker."""
    login = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token-provider": cloud}
    config = to_librdkafka({"bootstrap.servers": "127.0.0.1:1", **login})
    allow(URLS="https://127.0.0.1:1", MODULES="google,azure,kafka_sql")
    for connect in (lambda: ConnectionPool(config).connect_to(("127.0.0.1", 1)), lambda: open_client(Producer, config)):
        with pytest.raises(InvalidOptionError, match=rf"'properties\.sasl.*token-provider': {URLS} does not allow"):
            connect()
    allow(URLS=cloud)
    assert resolve_config(config)["sasl.oauthbearer.token-provider"] == cloud


@pytest.mark.sample(1)
@pytest.mark.parametrize("connect", CLIENTS)
def test_allowed_endpoints_of_tokens(allow: Callable[..., None], connect: Callable[[dict[str, str]], None]) -> None:
    allow(URLS=f"https://other/token, {TOKEN_URL}/")
    with suppress(ConnectionError):  # nothing listens
        connect({"sasl.oauthbearer.token.endpoint.url": TOKEN_URL})


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("https://registry:8081", True),
        ("https://registry:8081/", True),
        ("https://user:password@registry:8081", True),
        ("https://registry:8081/other", False),
        ("https://registry", False),
        ("http://registry:8081", False),
        ("https://registry:8081@other", False),
        ("https://other/@registry:8081", False),
    ],
)
def test_urls_of_registries(allow: Callable[..., None], url: str, is_allowed: bool) -> None:
    allow(URLS="https://registry:8081")
    if is_allowed:
        open_registry(url)
    else:
        with pytest.raises(InvalidOptionError, match=f"Option 'avro-confluent.url': {URLS} does not allow a URL"):
            open_registry("https://registry:8081", url)
