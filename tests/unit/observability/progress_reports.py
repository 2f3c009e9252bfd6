"""Spark's progress reports of a query: a batch with rows, and an idle query."""

from __future__ import annotations

from typing import Any, Final

NOON: Final = 1_767_268_800_000  # 2026-01-01 12:00:00 UTC
BATCH: Final[dict[str, Any]] = {
    "id": "6d70042c",
    "name": "copy",
    "timestamp": "2026-01-01T12:00:00.000Z",
    "batchId": 7,
    "batchDuration": 2000,
    "numInputRows": 600,
    "processedRowsPerSecond": 300.0,
    "eventTime": {"max": "2026-01-01T11:59:30.500Z", "watermark": "2026-01-01T11:59:00.000Z"},
    "sources": [
        {
            "description": "PythonMicroBatchStream",
            "numInputRows": 590,
            "startOffset": {"version": 1, "offsets": {"a": {"0": 0, "1": 0}}},
            "endOffset": {"version": 1, "offsets": {"a": {"0": 500, "1": 100}}},
            "latestOffset": {
                "version": 1,
                "offsets": {"a": {"0": 1000, "1": 100, "2": 5}},
                "table": "default.src",
                "commitsSucceeded": 3,
                "commitsFailed": 1,
                "committedOffsets": {"a": {"0": 400}},
                "maxTimestamp": NOON - 20_000,
            },
        },
        {"description": "RateStream", "endOffset": 17, "latestOffset": 17},
    ],
}
IDLE: Final[dict[str, Any]] = {
    **BATCH,
    "timestamp": "2026-01-01T12:00:10.000Z",
    "batchDuration": 5,
    "numInputRows": 0,
    "processedRowsPerSecond": 0.0,
    "eventTime": {"watermark": "2026-01-01T11:59:00.000Z"},
}
