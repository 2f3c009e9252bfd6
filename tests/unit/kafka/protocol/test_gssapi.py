"""Test what the direct client asks of the Kerberos library; ``make test-kerberos`` tests it with a KDC."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_sql.kafka.protocol.gssapi import GssapiError, SecurityContext, _credential_store, load_library

needs_library = pytest.mark.skipif(load_library() is None, reason="not installed: libgssapi_krb5")


def test_tickets_of_a_keytab_are_only_in_memory() -> None:
    config = {"sasl.kerberos.keytab": "/etc/alice.keytab"}
    store = _credential_store(config, "alice")
    assert store["client_keytab"] == "/etc/alice.keytab"
    assert store["ccache"].startswith("MEMORY:")
    assert _credential_store(config, "bob")["ccache"] != store["ccache"]


def test_without_a_keytab_the_ticket_cache_of_the_user_is_used() -> None:
    assert _credential_store({"sasl.kerberos.principal": "alice"}, "alice") == {}


@needs_library
def test_errors_are_those_of_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/none")
    monkeypatch.setenv("KRB5_CONFIG", "/dev/null")
    context = SecurityContext("kafka@localhost", "alice", {})
    with pytest.raises(GssapiError, match="No Kerberos credentials available"):
        context.step()
    context.close()
    keytab = {"client_keytab": f"{tmp_path}/none", "ccache": "MEMORY:none"}
    with pytest.raises(GssapiError, match="No credentials were supplied"):
        SecurityContext("kafka@localhost", "alice@TEST.LOCAL", keytab)
