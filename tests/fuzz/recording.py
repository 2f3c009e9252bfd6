"""Record the corpus: responses of a real broker, and key stores created by Java.

``python -m tests.fuzz.recording`` takes about ten seconds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from cryptography.hazmat.primitives.serialization import PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.writes.producer import cached_direct_producer
from kafka_sql.kafka.direct.writes.transactional_producer import open_direct_transaction
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.messages import Request
from kafka_sql.kafka.protocol.transaction_admin import EndTxnTarget, TransactionAdmin
from tests.certificates import STORE_PASSWORD, create_authority, create_jks_store, create_trust_store, sign_certificate
from tests.fuzz.broker import CORPUS


def responses() -> dict[str, set[str]]:
    """Return response bodies by API key and version."""
    recorded: dict[str, set[str]] = {}
    receive = Connection.receive

    def record(self: Connection, request: Request, number: int, seconds: float | None = None) -> Any:
        response = receive(self, request, number, seconds)
        recorded.setdefault(f"{request.key}.{response.version}", set()).add(response._body[response._at :].hex())
        return response

    with EmbeddedKafka() as kafka, mock.patch.object(Connection, "receive", record):
        client = TransactionAdmin(to_librdkafka({"bootstrap.servers": kafka.bootstrap_servers}))
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        for future in admin.create_topics([NewTopic(name, 2, 1) for name in ("t", "u")]).values():
            future.result(60)
        producers = []
        for k in range(3):
            producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"p-{k}"})
            producer.init_transactions(60)
            producer.begin_transaction()
            for topic in ("t", "u"):
                producer.produce(topic, b"x" * 20, key=b"k")
            producer.flush(60)
            producers.append(producer)
        described = {key: d for key, d in client.describe(["p-0", "p-1", "none"]).items() if d is not None}
        client.list_ongoing("p")
        locations = client.first_offsets(described)
        client.abort({"p-0": described["p-0"]})
        client.commit(
            [
                EndTxnTarget("p-1", described["p-1"].producer_id, described["p-1"].producer_epoch),
                EndTxnTarget("none", 0, 0),
            ]
        )
        for key, location in locations.items():
            client.outcome(location, described[key].producer_id)
        client.close()
        config = {**client._config, "transaction.timeout.ms": "60000"}
        for topic in ("t", "u"):
            with (
                cached_direct_producer(config, topic) as direct_producer,
                open_direct_transaction(config, "d", topic) as transactional,
            ):
                for direct in (direct_producer, transactional):
                    direct.produce(pa.array([b"x", b"y"], pa.binary()), partitions=np.array([0, 1], np.int32))
                    direct.flush()
    return recorded


def stores(folder: Path) -> None:
    """Create JKS and PKCS12 with keytool, PKCS12 and PEM with cryptography. The keys are not used elsewhere."""
    root = create_authority("root")
    intermediate = create_authority("intermediate", root)
    client = sign_certificate(intermediate, "client")
    create_trust_store(folder / "trust.jks", root, "JKS")
    create_trust_store(folder / "trust.p12", root, "PKCS12")
    create_jks_store(folder / "client.jks", client)
    create_jks_store(folder / "client2.jks", client, "key-password")
    few_rounds = PrivateFormat.PKCS12.encryption_builder().kdf_rounds(10).build(STORE_PASSWORD.encode())
    p12 = serialize_key_and_certificates(b"me", client.private_key, client.certificate, client.issuers, few_rounds)
    (folder / "quick.p12").write_bytes(p12)
    (folder / "client.pem").write_text(client.key() + client.chain)
    (folder / "trust.pem").write_text(root.pem + "words between\n" + intermediate.pem)
    traditional = PrivateFormat.TraditionalOpenSSL
    (folder / "old.pem").write_text(client.key("key-password", traditional) + client.chain)
    for leftover in (*folder.glob("*.cer"), folder / "client.p12", folder / "client2.p12"):
        leftover.unlink()


if __name__ == "__main__":
    CORPUS.parent.mkdir(exist_ok=True)
    CORPUS.write_text(json.dumps({key: sorted(bodies) for key, bodies in sorted(responses().items())}, indent=1) + "\n")
    (CORPUS.parent / "stores").mkdir(exist_ok=True)
    stores(CORPUS.parent / "stores")
