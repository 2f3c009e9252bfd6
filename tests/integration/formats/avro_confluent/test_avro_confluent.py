"""Test the avro-confluent format with a real schema registry: ids, evolution, errors, restarts, credentials, TLS."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from kafka_sql.embedded import EmbeddedRegistry
from kafka_sql.errors import DecodeError, IncompatibleSchemaError, MissingOptionError, SchemaError, SchemaRegistryError
from kafka_sql.formats.avro_confluent import AVRO_CONFLUENT
from kafka_sql.formats.confluent import client
from kafka_sql.options import Options
from tests.registry_helpers import (
    RegistryProxy,
    clear_registry_clients,
    create_certificate,
    encode_avro,
    infer,
    register,
    run_registry_proxy,
)

pytestmark = pytest.mark.integration

PAIR = pa.schema([("id", pa.int64()), ("name", pa.string())])


@pytest.fixture(autouse=True)
def without_cached_schemas() -> None:
    """Make each test fetch its schemas."""
    clear_registry_clients()


def options(url: str, **format_options: str) -> Options:
    named = {f"avro-confluent.{key.replace('_', '-')}": value for key, value in format_options.items()}
    return Options(AVRO_CONFLUENT.options, {"avro-confluent.url": url, **named})


def record(*fields: Any) -> Any:
    return {"type": "record", "name": "R", "fields": list(fields)}


def rows(decoded: Any, schema: pa.Schema = PAIR) -> list[Any]:
    return list(pa.RecordBatch.from_arrays(decoded.columns, schema=schema).to_pylist())


def test_written_payloads_are_registered_and_read_back(registry: EmbeddedRegistry) -> None:
    format_options = options(registry.url, subject="written-value")
    batch = pa.RecordBatch.from_pylist([{"id": 1, "name": "é"}, {"id": None, "name": None}], PAIR)
    encoder = AVRO_CONFLUENT.encoder(PAIR, format_options)
    assert encoder.encode(batch[:0]).to_pylist() == []  # without rows, nothing is registered
    assert httpx.get(f"{registry.url}/subjects/written-value/versions").status_code == 404
    payloads = encoder.encode(batch)
    latest = httpx.get(f"{registry.url}/subjects/written-value/versions/latest").json()
    schema = json.loads(latest["schema"])
    assert (schema["name"], schema["namespace"]) == ("record", "org.apache.flink.avro.generated")
    assert payloads.to_pylist() == [encode_avro(latest["id"], schema, row) for row in batch.to_pylist()]
    assert rows(AVRO_CONFLUENT.decoder(PAIR, format_options).decode(payloads)) == batch.to_pylist()


def test_payloads_of_several_schemas(registry: EmbeddedRegistry) -> None:
    written = [
        record({"name": "id", "type": "long"}, {"name": "name", "type": "string"}),
        record({"name": "name", "type": ["null", "string"]}, {"name": "id", "type": "int"}),
        record({"name": "id", "type": ["long", "null"]}, {"name": "more", "type": {"type": "array", "items": "int"}}),
        record({"name": "name", "type": {"type": "enum", "name": "E", "symbols": ["a", "b"]}}),
    ]
    data = [{"id": 1, "name": "x"}, {"id": 2, "name": None}, {"id": None, "more": [1, 2]}, {"name": "b"}]
    numbers = [register(registry, f"many-{k}", schema) for k, schema in enumerate(written)]
    order = [0, 1, 2, 3, 1, 0, 3, 2] * 20
    payloads: list[bytes | None] = [encode_avro(numbers[k], written[k], data[k]) for k in order]
    payloads[5:5] = [None]
    decoder = AVRO_CONFLUENT.decoder(PAIR, options(registry.url, subject="many"), ("schema-id", "subject"))
    decoded = decoder.decode(pa.array(payloads))
    assert rows(decoded) == [{"id": data[k].get("id"), "name": data[k].get("name")} for k in order]
    assert decoded.payload_indices is not None
    assert decoded.payload_indices.to_pylist() == [k for k in range(len(payloads)) if k != 5]
    assert decoded.metadata[0].to_pylist() == [numbers[k] for k in order]
    assert decoded.metadata[1].to_pylist() == ["many"] * len(order)


def test_schema_with_a_reference(registry: EmbeddedRegistry) -> None:
    address = {"type": "record", "name": "a.Address", "fields": [{"name": "city", "type": "string"}]}
    register(registry, "address", address)
    person = {"type": "record", "name": "a.Person", "fields": [{"name": "home", "type": "a.Address"}]}
    reference = [{"name": "a.Address", "subject": "address", "version": 1}]
    number = register(registry, "person", person, references=reference)
    schema = pa.schema([("home", pa.struct([("city", pa.string())]))])
    payload = b"\0" + number.to_bytes(4, "big") + b"\x08Oslo"
    decoded = AVRO_CONFLUENT.decoder(schema, options(registry.url)).decode(pa.array([payload]))
    assert rows(decoded, schema) == [{"home": {"city": "Oslo"}}]


def test_undecodable_payloads(registry: EmbeddedRegistry) -> None:
    schema = record({"name": "id", "type": "long"}, {"name": "name", "type": "string"})
    number = register(registry, "errors", schema)
    good = encode_avro(number, schema, {"id": 1, "name": "x"})
    other = register(registry, "errors-other", record({"name": "id", "type": "string"}))
    recursive = register(registry, "errors-recursive", record({"name": "next", "type": ["null", "R"]}))
    decoder = AVRO_CONFLUENT.decoder(PAIR, options(registry.url))
    for bad, fragment in (
        (b"", "Unknown data format. Magic number does not match"),
        (b"{}", "Unknown data format. Magic number does not match"),
        (b'{"id": 1}', "the payload is: 7b 22"),
        (b"\0\0\x0f\x42\x40\0", "schema id 1000000 not found (40403"),
        (b"\0" + other.to_bytes(4, "big") + b"\0", f"of id {other} cannot be read as the table's columns: field 'id'"),
        (b"\0" + recursive.to_bytes(4, "big") + b"\0", f"of id {recursive} contains itself: the recursive type 'R'"),
        (good[:-1], "the payload ends before the value does"),
    ):
        with pytest.raises(DecodeError) as e:
            decoder.decode(pa.array([good, good, bad, good, b"x"]))
        assert e.value.row == 2
        assert fragment in str(e.value)


def test_incompatible_schema(registry: EmbeddedRegistry) -> None:
    subject = "strict-value"
    register(registry, subject, record({"name": "id", "type": "long"}))
    httpx.put(f"{registry.url}/config/{subject}", json={"compatibility": "BACKWARD"}).raise_for_status()
    texts = pa.schema([pa.field("id", pa.string(), nullable=False)])
    encoder = AVRO_CONFLUENT.encoder(texts, options(registry.url, subject=subject))
    with pytest.raises(IncompatibleSchemaError, match=f"for subject '{subject}': it is incompatible"):
        encoder.encode(pa.RecordBatch.from_pydict({"id": ["x"]}, texts))


def test_without_automatic_registration(registry: EmbeddedRegistry) -> None:
    format_options = {"avro-confluent.url": registry.url, "avro-confluent.subject": "fixed-value",
             "avro-confluent.properties": "auto.register.schemas:false"}  # fmt: skip
    batch = pa.RecordBatch.from_pydict({"id": [1], "name": ["x"]}, PAIR)
    encoder = AVRO_CONFLUENT.encoder(PAIR, Options(AVRO_CONFLUENT.options, format_options))
    with pytest.raises(SchemaRegistryError, match="subject 'fixed-value' not found"):
        encoder.encode(batch)
    written = AVRO_CONFLUENT.encoder(PAIR, options(registry.url, subject="fixed-value")).encode(batch)
    assert encoder.encode(batch).to_pylist() == written.to_pylist()


def test_schema_option(registry: EmbeddedRegistry) -> None:
    custom_schema = record({"name": "id", "type": ["long", "null"]},
                 {"name": "name", "type": {"type": "enum", "name": "E", "symbols": ["a", "b"]}})  # fmt: skip
    format_options = options(registry.url, subject="own", schema=json.dumps(custom_schema))
    batch = pa.RecordBatch.from_pylist([{"id": 1, "name": "b"}, {"id": None, "name": "a"}], PAIR)
    payloads = AVRO_CONFLUENT.encoder(PAIR, format_options).encode(batch)
    latest = httpx.get(f"{registry.url}/subjects/own/versions/latest").json()
    assert json.loads(latest["schema"]) == custom_schema
    assert payloads.to_pylist() == [encode_avro(latest["id"], custom_schema, row) for row in batch.to_pylist()]
    assert rows(AVRO_CONFLUENT.decoder(PAIR, format_options).decode(payloads)) == batch.to_pylist()
    with pytest.raises(SchemaError, match="does not match the table schema"):
        AVRO_CONFLUENT.encoder(PAIR.remove(0), format_options)
    with pytest.raises(MissingOptionError, match="subject is required for serialization"):
        AVRO_CONFLUENT.encoder(PAIR, options(registry.url))


@pytest.fixture
def proxy(registry: EmbeddedRegistry) -> Iterator[tuple[str, type[RegistryProxy]]]:
    """Run a proxy in front of the registry; yield its URL and its class."""
    with run_registry_proxy(registry.url) as registry_proxy:
        yield registry_proxy


def test_schema_is_fetched_once_and_retried_after_failures(proxy: Any, registry: EmbeddedRegistry) -> None:
    url, proxy_state = proxy
    proxy_state.failing_requests = 2
    schema = record({"name": "id", "type": "long"})
    number = register(registry, "asked", schema)
    array = pa.array([encode_avro(number, schema, {"id": k}) for k in range(3)])
    for _ in range(3):  # three tasks in one process
        decoded = AVRO_CONFLUENT.decoder(PAIR, options(f"http://127.0.0.1:1,{url}")).decode(array)
        assert [row["id"] for row in rows(decoded)] == [0, 1, 2]
    assert proxy_state.request_count == 3


@pytest.mark.parametrize(
    ("format_options", "expected"),
    [
        ({"basic_auth.user_info": "me:s:3"}, "Basic bWU6czoz"),
        ({"basic_auth.credentials_source": "USER_INFO", "basic_auth.user_info": "me:x"}, "Basic bWU6eA=="),
        ({"bearer_auth.credentials_source": "STATIC_TOKEN", "bearer_auth.token": "abc"}, "Bearer abc"),
    ],
)
def test_credentials(proxy: Any, registry: EmbeddedRegistry, format_options: dict[str, str], expected: str) -> None:
    url, proxy_state = proxy
    proxy_state.expected_authorization = expected
    schema = record({"name": "id", "type": "long"})
    number = register(registry, "credentials", schema)
    array = pa.array([encode_avro(number, schema, {"id": 5})])
    assert rows(AVRO_CONFLUENT.decoder(PAIR, options(url, **format_options)).decode(array))[0]["id"] == 5
    with pytest.raises(SchemaRegistryError, match="rejected the credentials") as e:
        AVRO_CONFLUENT.decoder(PAIR, options(url)).decode(array)
    assert "s:3" not in str(e.value)


@pytest.mark.long
def test_registry_restart(registry: EmbeddedRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = record({"name": "id", "type": "long"})
    first = register(registry, "restarts", schema)
    second = register(registry, "restarts-2", record({"name": "id", "type": "int"}))
    decoder = AVRO_CONFLUENT.decoder(PAIR, options(registry.url))
    known = pa.array([encode_avro(first, schema, {"id": 1})])
    unknown = pa.array([encode_avro(second, schema, {"id": 2})])
    assert len(rows(decoder.decode(known))) == 1
    registry.shut_down()
    assert len(rows(decoder.decode(known))) == 1  # cached schemas need no registry
    monkeypatch.setattr(client, "RETRY_TIMEOUT", 1.0)
    with pytest.raises(
        SchemaRegistryError, match=r"The schema registry did not respond within [01]\.\d s to a request for schema id"
    ):
        decoder.decode(unknown)  # no record is malformed, so none may be skipped
    monkeypatch.setattr(client, "RETRY_TIMEOUT", 120.0)
    starting = threading.Thread(target=registry.start)
    starting.start()
    assert rows(decoder.decode(unknown)) == [{"id": 2, "name": None}]  # retried while the registry starts
    starting.join()


@pytest.mark.long
def test_tls(tmp_path: Path) -> None:
    certificate, key = create_certificate(tmp_path)
    store = tmp_path / "trust.p12"
    subprocess.run(["keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", certificate, "-keystore", store,
                    "-storetype", "PKCS12", "-storepass", "changeit"], check=True, capture_output=True)  # fmt: skip
    with EmbeddedRegistry(certificate, key) as secure:
        schema = record({"name": "id", "type": "long"})
        number = register(secure, "tls", schema)
        array = pa.array([encode_avro(number, schema, {"id": 5})])
        for format_options in (
            {"ssl.truststore.location": str(certificate)},
            {"ssl.truststore.location": str(store), "ssl.truststore.password": "changeit"},
        ):
            assert (
                rows(AVRO_CONFLUENT.decoder(PAIR, options(secure.secure_url, **format_options)).decode(array))[0]["id"]
                == 5
            )
        with pytest.raises(SchemaRegistryError, match="No TLS connection to the schema registry"):
            AVRO_CONFLUENT.decoder(PAIR, options(secure.secure_url)).decode(array)


def test_columns_inferred_from_the_latest_schema(registry: EmbeddedRegistry) -> None:
    register(registry, "infer-value", record({"name": "id", "type": "long"}))
    latest = record({"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"], "default": None})
    register(registry, "infer-value", latest)
    register(registry, "infer-key", record({"name": "k", "type": "string"}))
    table_options = {
        "topic": "infer",
        "value.format": "avro-confluent", "value.avro-confluent.url": registry.url,
        "key.format": "avro-confluent", "key.avro-confluent.url": registry.url,
    }  # fmt: skip
    inferred = infer(table_options)
    assert inferred.columns == (("k", "STRING NOT NULL"), ("id", "BIGINT NOT NULL"), ("name", "STRING"))
    assert json.loads(inferred.options["value.avro-confluent.schema"]) == latest
    assert (inferred.options["key.fields"], inferred.options["value.fields-include"]) == ("k", "EXCEPT_KEY")
    with pytest.raises(SchemaRegistryError, match="subject 'nothing-value' not found"):
        infer({**table_options, "topic": "nothing"})
