"""Test the arguments, the output and the exit codes of ``kafka-sql transactions``."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.cli import transactions
from kafka_sql.errors import BrokerError
from kafka_sql.sink.exactly_once import admin
from kafka_sql.sink.exactly_once.admin import OpenTransaction

SHARED = ["--bootstrap-server", "h:1", "--prefix", "p"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    recorded: list[Any] = []

    def list_transactions(*arguments: Any) -> list[OpenTransaction]:
        recorded.append(arguments)
        started = datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
        return [
            OpenTransaction("p-t-1", True, ("t", "u"), started, started.replace(minute=5)),
            OpenTransaction("p-t-2", False, (), started, started.replace(minute=6)),
        ]

    def end(*arguments: Any) -> list[str]:
        recorded.append(arguments)
        return ["p-t-1", "p-t-2"]

    monkeypatch.setattr(admin, "list_transactions", list_transactions)
    monkeypatch.setattr(admin, "commit_transactions", end)
    monkeypatch.setattr(admin, "abort_transactions", end)
    return recorded


def test_list(calls: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert transactions.run(["list", *SHARED]) == 0
    assert calls == [({"bootstrap.servers": "h:1"}, "p")]
    started = "2024-01-02 03:04:05+00:00"
    assert capsys.readouterr().out == (
        f"p-t-1\tdecided\tt,u\t{started}\taborted by the brokers at 2024-01-02 03:05:05+00:00\n"
        f"p-t-2\tundecided\t\t{started}\taborted by the brokers at 2024-01-02 03:06:05+00:00\n"
    )


@pytest.mark.parametrize(
    ("command", "flag", "word"), [("commit", "--accept-missing", "committed"), ("abort", "--rewrite", "aborted")]
)
def test_commit_and_abort(
    command: str, flag: str, word: str, calls: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert transactions.run([command, *SHARED]) == 0
    assert transactions.run([command, *SHARED, flag]) == 0
    assert [arguments[1:] for arguments in calls] == [("p", False), ("p", True)]
    assert capsys.readouterr().out == f"{word}\tp-t-1\n{word}\tp-t-2\n" * 2


def test_client_properties(calls: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=other:1\nsasl.mechanism=PLAIN\nclient.id=é\n", encoding="utf-8")
    options = ["--command-config", str(file), "--property", " client.id =a=b", "--property", "x="]
    assert transactions.run(["list", *SHARED, *options]) == 0
    (properties, _) = calls[0]
    assert properties == {"bootstrap.servers": "h:1", "sasl.mechanism": "PLAIN", "client.id": "a=b", "x": ""}


@pytest.mark.parametrize("pair", ["a", "=a", ""])
def test_an_invalid_property(pair: str, calls: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        transactions.run(["list", *SHARED, "--property", pair])
    assert exited.value.code == 2
    assert "--property expects KEY=VALUE" in capsys.readouterr().err


def test_errors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: Any) -> None:
        raise BrokerError("no response")

    monkeypatch.setattr(admin, "list_transactions", fail)
    assert transactions.run(["list", *SHARED]) == 1
    assert transactions.run(["list", *SHARED, "--command-config", "/nowhere"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "[BROKER] no response",
        "[Errno 2] No such file or directory: '/nowhere'",
    ]
