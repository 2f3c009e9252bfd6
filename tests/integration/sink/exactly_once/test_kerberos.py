"""The protocol client with Kerberos: a KDC, a broker and a keytab. Needs MIT Kerberos."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from tests.kdc import REALM, KerberosBroker, missing_programs

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(bool(missing_programs()), reason=f"not installed: {', '.join(missing_programs())}"),
]


@pytest.fixture(scope="module")
def config(kerberos: KerberosBroker) -> dict[str, str]:
    """Return a client configuration."""
    return {
        **to_librdkafka({"bootstrap.servers": f"localhost:{kerberos.ports['kafka']}"}),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.kerberos.principal": f"bob@{REALM}",
        "sasl.kerberos.keytab": str(kerberos.kdc.keytab("bob")),
    }


@pytest.fixture(autouse=True)
def _without_tickets(kerberos: KerberosBroker) -> None:
    kerberos.log_out()


def test_a_keytab(config: dict[str, str]) -> None:
    transactions = TransactionAdmin(config)
    assert transactions.list_ongoing("nothing") == []
    transactions.close()


def test_an_unknown_service(config: dict[str, str]) -> None:
    transactions = TransactionAdmin({**config, "sasl.kerberos.service.name": "unknown"})
    with pytest.raises(BrokerError, match=r"Kerberos: no security context with 'unknown@localhost'.*klist"):
        transactions.list_ongoing("nothing")


def test_no_ticket_and_no_keytab(config: dict[str, str]) -> None:
    without = {k: v for k, v in config.items() if k != "sasl.kerberos.keytab"}
    with pytest.raises(BrokerError, match=r"Kerberos: no security context with 'kafka@localhost'.*Check"):
        TransactionAdmin(without).list_ongoing("nothing")


def test_a_missing_keytab(config: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=r"Kerberos: no security context"):
        TransactionAdmin({**config, "sasl.kerberos.keytab": str(tmp_path / "none")}).list_ongoing("nothing")
