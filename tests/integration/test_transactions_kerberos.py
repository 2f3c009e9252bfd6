"""The protocol's client with Kerberos: a KDC, a broker and a keytab. Needs MIT's programs and the package gssapi."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.wire import free_ports
from kafka_sql.errors import BrokerError
from kafka_sql.kafka.properties import to_librdkafka
from kafka_sql.kafka.protocol.transactions import Transactions
from tests.kdc import REALM, Kdc, missing

pytest.importorskip("gssapi")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())}"),
]


@pytest.fixture(scope="module")
def kerberos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A client's configuration."""
    with pytest.MonkeyPatch.context() as patched:
        kdc = Kdc(tmp_path_factory.mktemp("kdc"))
        for key, value in kdc.environment.items():
            patched.setenv(key, value)
        patched.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={kdc.config}")
        (port,) = free_ports(1)
        login = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true doNotPrompt=true"
        keytab = kdc.keytab("kafka/localhost")
        properties: dict[str, str | int | bool] = {
            "listeners": f"SASL://127.0.0.1:{port}",
            "advertised.listeners": f"SASL://localhost:{port}",
            "listener.security.protocol.map": "SASL:SASL_PLAINTEXT",
            "listener.name.sasl.sasl.enabled.mechanisms": "GSSAPI",
            "listener.name.sasl.sasl.kerberos.service.name": "kafka",
            "listener.name.sasl.gssapi.sasl.jaas.config": (
                f'{login} keyTab="{keytab}" principal="kafka/localhost@{REALM}";'
            ),
        }
        with EmbeddedKafka(properties=properties):
            yield {
                **to_librdkafka({"bootstrap.servers": f"localhost:{port}"}),
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "GSSAPI",
                "sasl.kerberos.service.name": "kafka",
                "sasl.kerberos.principal": f"alice@{REALM}",
                "sasl.kerberos.keytab": str(kdc.keytab("alice")),
            }
        kdc.stop()


def test_a_keytab(kerberos: dict[str, str]) -> None:
    transactions = Transactions(kerberos)
    assert transactions.ongoing("nothing") == []
    transactions.close()


def test_a_service_that_nobody_knows(kerberos: dict[str, str]) -> None:
    transactions = Transactions({**kerberos, "sasl.kerberos.service.name": "stranger"})
    with pytest.raises(BrokerError, match=r"Kerberos: no security context with 'stranger@localhost'.*klist"):
        transactions.ongoing("nothing")


def test_no_ticket_and_no_keytab(kerberos: dict[str, str]) -> None:
    without = {k: v for k, v in kerberos.items() if k != "sasl.kerberos.keytab"}
    with pytest.raises(BrokerError, match=r"Kerberos: no security context with 'kafka@localhost'.*Check"):
        Transactions(without).ongoing("nothing")


def test_a_keytab_that_is_not_there(kerberos: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=r"Kerberos: no security context"):
        Transactions({**kerberos, "sasl.kerberos.keytab": str(tmp_path / "none")}).ongoing("nothing")
