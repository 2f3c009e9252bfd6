"""Test the warnings about Kerberos' files that other users can access."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.checks import credentials
from kafka_sql.checks.credentials import check_permissions
from kafka_sql.kafka.config.sasl import ticket_cache

MODULE = "com.sun.security.auth.module.Krb5LoginModule required"


@pytest.fixture
def keytab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A keytab, and no tickets."""
    monkeypatch.setenv("KRB5CCNAME", "MEMORY:")
    path = tmp_path / "alice.keytab"
    path.touch(0o600)
    return path


def warnings(login: str, mechanism: str = "GSSAPI") -> list[str]:
    """Return the messages for a login, and check that they are warnings."""
    config = {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{MODULE} {login};",
    }
    definition: Any = SimpleNamespace(name="db.orders", client_config=config)
    findings = list(check_permissions(definition))
    assert {(f.table, f.subject, f.ok, f.is_warning) for f in findings} <= {("db.orders", "permissions", True, True)}
    return [f.message for f in findings]


@pytest.mark.parametrize(("mode", "is_exposed"), [(0o600, False), (0o400, False), (0o640, True), (0o604, True)])
def test_the_mode_of_a_keytab(keytab: Path, mode: int, is_exposed: bool) -> None:
    keytab.chmod(mode)
    expected = ["other users can read or write the keytab of 'properties.sasl.jaas.config'. Run chmod 600"]
    messages = warnings(f'useKeyTab=true keyTab="{keytab}" principal="alice"')
    assert [m.partition(" for the file")[0] for m in messages] == expected * is_exposed


def test_a_keytab_of_another_user(keytab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login = f'useKeyTab=true keyTab="{keytab}" principal="alice"'
    owner = os.stat(keytab).st_uid
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert len(warnings(login)) == (owner != 0)
    monkeypatch.setattr(credentials.os, "stat", lambda _: SimpleNamespace(st_mode=0o100600, st_uid=4712))
    assert len(warnings(login)) == 1


def test_a_missing_keytab_is_reported_by_the_login(keytab: Path) -> None:
    keytab.unlink()
    assert warnings(f'useKeyTab=true keyTab="{keytab}" principal="alice"') == []


def test_a_ticket_cache(keytab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = keytab.with_name("tickets")
    tickets.touch(0o600)
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tickets}")
    assert warnings("useTicketCache=true") == []
    tickets.chmod(0o660)
    (message,) = warnings("useTicketCache=true")
    assert message.startswith(f"other users can read or write the tickets in '{tickets}'. Run chmod 600")


def test_other_mechanisms_have_no_tickets(keytab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keytab.chmod(0o666)
    monkeypatch.setenv("KRB5CCNAME", str(keytab))
    monkeypatch.setattr(credentials, "resolve_config", lambda config: {**config, "sasl.mechanism": "PLAIN"})
    assert warnings("") == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("FILE:/run/tickets", "/run/tickets"),
        ("/run/a:b", "/run/a:b"),
        ("tickets", "tickets"),
        ("DIR:/run/tickets", "/run/tickets"),
        ("DIR::/run/tickets/tkt1", "/run/tickets/tkt1"),
        ("KEYRING:persistent:1000", None),
        ("MEMORY:x", None),
        ("", f"/tmp/krb5cc_{os.getuid()}"),
    ],
)
def test_the_location_of_tickets(monkeypatch: pytest.MonkeyPatch, name: str, path: str | None) -> None:
    monkeypatch.setenv("KRB5CCNAME", name)
    assert ticket_cache() == path
