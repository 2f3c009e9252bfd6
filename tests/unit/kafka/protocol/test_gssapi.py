"""Test what the direct client asks of the Kerberos library, which is not installed with the package."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kafka_sql.kafka.protocol.gssapi import _credentials


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the package ``gssapi``, whose credentials are their arguments."""
    module: Any = ModuleType("gssapi")
    module.Name = lambda name, kind: (name, kind)
    module.NameType = SimpleNamespace(kerberos_principal="principal")
    module.Credentials = lambda **arguments: arguments
    monkeypatch.setitem(sys.modules, "gssapi", module)


@pytest.mark.usefixtures("library")
def test_tickets_of_a_keytab_are_only_in_memory() -> None:
    config = {"sasl.kerberos.keytab": "/etc/alice.keytab", "sasl.kerberos.principal": "alice"}
    credentials = _credentials(config)
    assert credentials["name"] == ("alice", "principal")
    assert credentials["store"]["client_keytab"] == "/etc/alice.keytab"
    assert credentials["store"]["ccache"].startswith("MEMORY:")
    other = _credentials({**config, "sasl.kerberos.principal": "bob"})
    assert other["store"]["ccache"] != credentials["store"]["ccache"]


@pytest.mark.usefixtures("library")
def test_without_a_keytab_the_ticket_cache_of_the_user_is_used() -> None:
    assert _credentials({"sasl.kerberos.principal": "alice"}) is None
