"""Test the Prometheus endpoint."""

from __future__ import annotations

import socket
import urllib.request

import pytest

from kafka_sql.errors import InvalidOptionError
from kafka_sql.observability.prometheus import serve_metrics
from tests.unit.observability.fake_observer import FakeObserver


def test_metrics_and_labels() -> None:
    observer = FakeObserver()
    port = serve_metrics(observer, 0)
    assert serve_metrics(observer, 0) == port
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as response:
        lines = [line for line in response.read().decode().splitlines() if not line.startswith("#")]
    # the idle time grows with the clock
    constant_lines = [line for line in lines if "sourceIdleTime" not in line]
    assert constant_lines == [
        'kafka_sql_numRecordsIn{job_id="id-1",job_name="copy"} 5.0',
        'kafka_sql_numRecordsIn{job_id="id-2",job_name=""} 0.0',
        'kafka_sql_numRecordsWithoutRow{job_id="id-1",job_name="copy"} 3.0',
        'kafka_sql_numRecordsWithoutRow{job_id="id-2",job_name=""} 0.0',
        'kafka_sql_numRecordsInPerSecond{job_id="id-1",job_name="copy"} 0.0',
        'kafka_sql_numRecordsInPerSecond{job_id="id-2",job_name=""} 0.0',
        'kafka_sql_numBytesIn{job_id="id-1",job_name="copy"} 10.0',
        'kafka_sql_numLateRecordsDropped{job_id="id-1",job_name="copy"} 0.0',
        'kafka_sql_numLateRecordsDropped{job_id="id-2",job_name=""} 0.0',
        'kafka_sql_pendingRecords{job_id="id-1",job_name="copy",table="default.src"} 2.0',
        'kafka_sql_commitsSucceeded{job_id="id-1",job_name="copy",table="default.src"} 3.0',
        'kafka_sql_commitsFailed{job_id="id-1",job_name="copy",table="default.src"} 1.0',
        'kafka_sql_currentOffset{job_id="id-1",job_name="copy",partition="0",table="default.src",topic="a"} 5.0',
        'kafka_sql_records_lag{job_id="id-1",job_name="copy",partition="0",table="default.src",topic="a"} 2.0',
        'kafka_sql_numRecordsInByClient{client="direct",job_id="id-1",job_name="copy",table="default.src"} 4.0',
        'kafka_sql_numRecordsInByClient{client="librdkafka",job_id="id-1",job_name="copy",table="default.src"} 1.0',
    ]
    assert len(lines) == len(constant_lines) + 2


def is_reachable(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), 10).close()
    except ConnectionRefusedError:
        return False
    return True


def test_metrics_are_served_on_loopback_only_by_default() -> None:
    local, everywhere = FakeObserver(), FakeObserver()
    port = serve_metrics(local, 0)
    assert is_reachable("127.0.0.1", port)
    assert not is_reachable("127.0.0.2", port)
    assert is_reachable("127.0.0.2", serve_metrics(everywhere, 0, "0.0.0.0"))


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "a" * 64, ""])
def test_an_address_of_another_machine_is_rejected(host: str) -> None:
    with pytest.raises(
        InvalidOptionError, match=f"'{host}' for option 'metrics.reporter.prom.host': this machine has no"
    ):
        serve_metrics(FakeObserver(), 0, host)


def test_a_port_in_use_is_rejected() -> None:
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(InvalidOptionError, match=f"'{port}' for option 'metrics.reporter.prom.port': .*'0' for a"):
            serve_metrics(FakeObserver(), port)
