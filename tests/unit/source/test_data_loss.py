"""Test how tasks report data loss."""

from __future__ import annotations

import pytest

from kafka_sql.errors import DataLossError
from kafka_sql.kafka.split import Split
from kafka_sql.source.data_loss import data_loss_handler
from tests.unit.source.fake_cluster import define


def test_a_task_raises_or_logs_a_data_loss(caplog: pytest.LogCaptureFixture) -> None:
    split = Split("t", 0, 0, 9)
    data_loss_handler(define(scan_fail__on__data__loss="false"))(split, 3, 5)
    assert "t[0]@3: the earliest available offset is 5, 2 offsets are lost" in caplog.records[-1].getMessage()
    with pytest.raises(DataLossError):
        data_loss_handler(define())(split, 3, 5)
