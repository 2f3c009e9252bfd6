"""Test errors of the system's librdkafka; ``make test-kerberos`` tests that it replaces the wheel's."""

from __future__ import annotations

import sys

import pytest

from kafka_sql.runtime.system_librdkafka import VARIABLE, load_system_librdkafka


@pytest.fixture(autouse=True)
def _not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "confluent_kafka", raising=False)


def test_a_library_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere/librdkafka.so.1")
    with pytest.raises(ImportError, match=r"KAFKA_SQL_LIBRDKAFKA = '/nowhere/librdkafka.so.1' cannot be loaded"):
        load_system_librdkafka()


def test_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "librdkafka.so.1")
    monkeypatch.setitem(sys.modules, "confluent_kafka", sys)
    with pytest.raises(ImportError, match=r"too late after 'import confluent_kafka'\. Import kafka_sql first\."):
        load_system_librdkafka()


def test_without_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "confluent_kafka", sys)
    load_system_librdkafka()
