"""Writes the corpus: what a real broker answers to the clients that end transactions and that write, and stores as Java
makes them.

``python -m tests.fuzz.recording``: some ten seconds.
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
from kafka_sql.kafka.direct.producer import cached_direct_producer
from kafka_sql.kafka.direct.transactional_producer import open_direct_transaction
from kafka_sql.kafka.protocol.connection import Connection, Request
from kafka_sql.kafka.protocol.transaction_admin import EndTxnTarget, TransactionAdmin
from tests.certificates import STORE_PASSWORD, create_authority, create_jks_store, create_trust_store, sign_certificate
from tests.fuzz.broker import CORPUS


def responses() -> dict[str, set[str]]:
    """Bodies by the request's key and version."""
    found: dict[str, set[str]] = {}
    receive = Connection.receive

    def kept(self: Connection, request: Request, number: int) -> Any:
        answer = receive(self, request, number)
        found.setdefault(f"{request.key}.{request.version}", set()).add(answer._body[answer._at :].hex())
        return answer

    with EmbeddedKafka() as kafka, mock.patch.object(Connection, "receive", kept):
        client = TransactionAdmin(to_librdkafka({"bootstrap.servers": kafka.bootstrap_servers}))
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        for made in admin.create_topics([NewTopic(name, 2, 1) for name in ("t", "u")]).values():
            made.result(60)
        producers = []
        for k in range(3):
            producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"p-{k}"})
            producer.init_transactions(60)
            producer.begin_transaction()
            for topic in ("t", "u"):
                producer.produce(topic, b"x" * 20, key=b"k")
            producer.flush(60)
            producers.append(producer)
        described = {key: one for key, one in client.describe(["p-0", "p-1", "none"]).items() if one is not None}
        client.list_ongoing("p")
        places = client.first_offsets(described)
        client.abort({"p-0": described["p-0"]})
        client.commit(
            [
                EndTxnTarget("p-1", described["p-1"].producer_id, described["p-1"].producer_epoch),
                EndTxnTarget("none", 0, 0),
            ]
        )
        for key, place in places.items():
            client.outcome(place, described[key].producer_id)
        client.close()
        config = {**client._config, "transaction.timeout.ms": "60000"}
        for topic in ("t", "u"):
            with cached_direct_producer(config, topic) as plain, open_direct_transaction(config, "d", topic) as inside:
                for direct in (plain, inside):
                    direct.produce(pa.array([b"x", b"y"], pa.binary()), partitions=np.array([0, 1], np.int32))
                    direct.flush()
    return found


def stores(folder: Path) -> None:
    """JKS and PKCS12 by keytool, PKCS12 and PEM by cryptography. The keys are of no worth."""
    root = create_authority("root")
    between = create_authority("between", root)
    client = sign_certificate(between, "client")
    create_trust_store(folder / "trust.jks", root, "JKS")
    create_trust_store(folder / "trust.p12", root, "PKCS12")
    create_jks_store(folder / "client.jks", client)
    create_jks_store(folder / "client2.jks", client, "key-password")
    quick = PrivateFormat.PKCS12.encryption_builder().kdf_rounds(10).build(STORE_PASSWORD.encode())
    p12 = serialize_key_and_certificates(b"me", client.private_key, client.certificate, client.signers, quick)
    (folder / "quick.p12").write_bytes(p12)
    (folder / "client.pem").write_text(client.key() + client.chain)
    (folder / "trust.pem").write_text(root.pem + "words between\n" + between.pem)
    old = PrivateFormat.TraditionalOpenSSL
    (folder / "old.pem").write_text(client.key("key-password", old) + client.chain)
    for left in (*folder.glob("*.cer"), folder / "client.p12", folder / "client2.p12"):
        left.unlink()


if __name__ == "__main__":
    CORPUS.parent.mkdir(exist_ok=True)
    CORPUS.write_text(json.dumps({key: sorted(bodies) for key, bodies in sorted(responses().items())}, indent=1) + "\n")
    (CORPUS.parent / "stores").mkdir(exist_ok=True)
    stores(CORPUS.parent / "stores")
