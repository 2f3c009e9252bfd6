"""Test client certificates in all formats with a schema registry."""

from __future__ import annotations

import ssl
from pathlib import Path

import pyarrow as pa
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from kafka_sql.embedded import EmbeddedRegistry
from kafka_sql.errors import KeyStoreError, SchemaRegistryError
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options
from tests.registry_helpers import create_certificate, run_registry_proxy

pytestmark = pytest.mark.integration

SCHEMA = pa.schema([("id", pa.int64())])
IDENTIFIERS = ("avro-confluent", "json-confluent", "protobuf-confluent", "debezium-avro-confluent")


def test_client_certificates(registry: EmbeddedRegistry, tmp_path: Path) -> None:
    certificate, key = create_certificate(tmp_path)
    pem_store, p12_store = tmp_path / "client.pem", tmp_path / "client.p12"
    pem_store.write_bytes(key.read_bytes() + certificate.read_bytes())
    private_key = load_pem_private_key(key.read_bytes(), None)
    client_certificate = x509.load_pem_x509_certificate(certificate.read_bytes())
    encryption = BestAvailableEncryption(b"pw")
    p12_store.write_bytes(
        pkcs12.serialize_key_and_certificates(b"me", private_key, client_certificate, None, encryption)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    server.load_verify_locations(certificate)
    server.verify_mode = ssl.CERT_REQUIRED
    batch = pa.RecordBatch.from_pydict({"id": [1]}, SCHEMA)
    trust = {"ssl.truststore.location": str(certificate)}
    pem = trust | {"ssl.keystore.location": str(pem_store)}
    p12 = trust | {"ssl.keystore.location": str(p12_store), "ssl.keystore.password": "pw"}
    with run_registry_proxy(registry.url, server) as (url, proxy_state):

        def write(name: str, ssl_options: dict[str, str]) -> bytes:
            registry_options = {f"{name}.url": url, f"{name}.subject": f"mtls-{name}"}
            options = Options(
                FORMATS[name].options, registry_options | {f"{name}.{key}": text for key, text in ssl_options.items()}
            )
            return bytes(FORMATS[name].encoder(SCHEMA, options).encode(batch)[0].as_py())

        for name in IDENTIFIERS:
            assert write(name, pem) == write(name, p12)
            with pytest.raises(KeyStoreError, match=rf"'{name}.ssl.keystore.location'.*the store's password is wrong"):
                write(name, p12 | {"ssl.keystore.password": "other"})
        request_count = proxy_state.request_count
        with pytest.raises(SchemaRegistryError, match="No TLS connection to the schema registry"):
            write("json-confluent", trust)
        assert proxy_state.request_count == request_count
        # a replaced store is used by encoders that are created later
        (tmp_path / "other").mkdir()
        other_certificate, other_key = create_certificate(tmp_path / "other")
        pem_store.write_bytes(other_key.read_bytes() + other_certificate.read_bytes())
        with pytest.raises(SchemaRegistryError, match="No TLS connection to the schema registry"):
            write("json-confluent", pem)
        pem_store.write_bytes(key.read_bytes() + certificate.read_bytes())
        assert write("json-confluent", pem) == write("json-confluent", p12)
