"""Test what ``make audit`` checks, and how it reports what it could not check."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler

import pytest

from tests.http_server import send_json, serve
from tools import audit
from tools.audit import FOUND, NOT_CHECKED, NOTHING_FOUND, audit_jars, jars, lock_files, python_pins
from tools.lock import AUDIT, BASE, CLUSTER, DEV, PYSPARK_LOCKS
from tools.matrix import ROOT

JARS = [("org.apache.kafka:kafka-clients", "3.9.1"), ("org.apache.commons:commons-pool2", "2.12.1")]


def test_every_lock_file_is_audited() -> None:
    files = lock_files()
    assert {BASE, CLUSTER, DEV, AUDIT, *PYSPARK_LOCKS.values()} < {
        path for path, is_jars in files.items() if not is_jars
    }
    of_jars = {str(path.relative_to(ROOT)) for path, is_jars in files.items() if is_jars}
    assert of_jars > {"kafka_sql/embedded/kafka-4.3.1.lock", "kafka_sql/realtime/connector.lock"}
    assert {name for name, _ in jars()} > {"io.apicurio:apicurio-registry-app", *(name for name, _ in JARS)}
    pins = {(name, version) for versions in python_pins() for name, version in versions.items()}
    assert {name for name, _ in pins} > {"pyspark", "confluent-kafka", "pytest", "pip-audit", "bytewax"}
    assert len({version for name, version in pins if name == "pyspark"}) == 1 + len(PYSPARK_LOCKS)


def osv(results: object) -> type[BaseHTTPRequestHandler]:
    """Return the handler of a service that returns these results, and checks the request."""

    class Osv(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            assert self.path == "/v1/querybatch"
            assert queries[0] == {"package": {"ecosystem": "Maven", "name": JARS[0][0]}, "version": "3.9.1"}
            send_json(self, {"results": results})

        def log_message(self, *_: object) -> None:
            pass

    return Osv


@pytest.mark.parametrize(
    ("results", "code", "expected"),
    [
        ([{}, {}], NOTHING_FOUND, "2 jars: 0 known vulnerabilities"),
        ([{"vulns": [{"id": "GHSA-1"}, {"id": "GHSA-2"}]}, {}], FOUND, "kafka-clients 3.9.1: GHSA-1, GHSA-2"),
        ([{}], NOT_CHECKED, "2 jars were NOT audited"),
        (None, NOT_CHECKED, "2 jars were NOT audited"),
    ],
)
def test_jars(capsys: pytest.CaptureFixture[str], results: object, code: int, expected: str) -> None:
    with serve(osv(results)) as url:
        assert audit_jars(JARS, url) == code
    output = capsys.readouterr()
    assert expected in output.out + output.err


def test_a_service_that_does_not_respond(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit_jars(JARS, "http://127.0.0.1:1") == NOT_CHECKED
    assert "2 jars were NOT audited: http://127.0.0.1:1 did not respond" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("packages", "of_jars", "code"),
    [
        (NOTHING_FOUND, NOTHING_FOUND, NOTHING_FOUND),
        (NOTHING_FOUND, NOT_CHECKED, NOT_CHECKED),
        (FOUND, NOT_CHECKED, FOUND),
        (NOT_CHECKED, FOUND, FOUND),
    ],
)
def test_the_exit_code(monkeypatch: pytest.MonkeyPatch, packages: int, of_jars: int, code: int) -> None:
    monkeypatch.setattr(audit, "audit_packages", lambda pins: packages)
    monkeypatch.setattr(audit, "audit_jars", lambda locked, service: of_jars)
    assert audit.main() == code
