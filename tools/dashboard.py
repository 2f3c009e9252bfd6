"""The Grafana dashboard over the Prometheus metrics: ``python -m tools.dashboard`` writes docs/grafana.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).parents[1] / "docs" / "grafana.json"
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_CHOSEN: Final = '{job_name=~"$job"}'

# title, unit, what is drawn, the legend, what the reader should think of it
_PANELS: Final = [
    (
        "Pending records",
        "short",
        "kafka_sql_pendingRecords",
        "{{job_name}} {{table}}",
        "Offsets that have not been read. A line that only rises means a query that is too slow.",
    ),
    (
        "Lag of the partitions",
        "short",
        "kafka_sql_records_lag",
        "{{topic}}[{{partition}}]",
        "One partition far above the others: its keys are many, or its leader is slow.",
    ),
    ("Rows in", "rowsps", "kafka_sql_numRecordsInPerSecond", "{{job_name}}", "Rows a second of the last batch."),
    ("Bytes in", "Bps", "kafka_sql_numBytesInPerSecond", "{{job_name}}", "Bytes of columns a second."),
    (
        "Rows read since the start",
        "short",
        "kafka_sql_numRecordsIn",
        "{{job_name}}",
        "Starts again at 0 with the query.",
    ),
    (
        "Records that could not be read",
        "short",
        "kafka_sql_numRecordsInErrors",
        "{{job_name}}",
        "Left out, or dead letters.",
    ),
    ("Records left out", "short", "kafka_sql_numRecordsSkipped", "{{job_name}}", "They could not be read."),
    ("Dead letters", "short", "kafka_sql_numDeadLetters", "{{job_name}}", "Written into the topic for them."),
    (
        "Offsets without a row",
        "short",
        "kafka_sql_numRecordsWithoutRow",
        "{{job_name}}",
        "Skipped records, dead letters, tombstones, and what transactions and compaction leave.",
    ),
    ("Bytes read since the start", "bytes", "kafka_sql_numBytesIn", "{{job_name}}", "Starts again with the query."),
    (
        "Event time lag",
        "ms",
        "kafka_sql_currentEmitEventTimeLag",
        "{{job_name}}",
        "Age of the last batch's latest event at the batch's end.",
    ),
    ("Watermark lag", "ms", "kafka_sql_watermarkLag", "{{job_name}}", "How far the watermark is behind the clock."),
    ("Idle", "ms", "kafka_sql_sourceIdleTime", "{{job_name}}", "How long no row has been read."),
    ("Position", "none", "kafka_sql_currentOffset", "{{topic}}[{{partition}}]", "The next offset of each partition."),
    (
        "Committed",
        "none",
        "kafka_sql_committedOffset",
        "{{topic}}[{{partition}}]",
        "What Kafka has last confirmed; other tools see this one.",
    ),
    ("Commits", "short", "kafka_sql_commitsSucceeded", "{{job_name}} {{table}}", "Since the query's start."),
    (
        "Failed commits",
        "short",
        "kafka_sql_commitsFailed",
        "{{job_name}} {{table}}",
        "They stop nothing; the group may belong to somebody else.",
    ),
    ("Rows out", "short", "kafka_sql_numRecordsOut", "{{job_name}}", "Rows that the sink has written."),
    ("Bytes out", "bytes", "kafka_sql_numBytesOut", "{{job_name}}", "Their keys and values, before compression."),
    (
        "Errors while writing",
        "short",
        "kafka_sql_numRecordsOutErrors",
        "{{job_name}}",
        "What brokers reported; the client mends most of it by itself.",
    ),
    (
        "Time to send",
        "ms",
        "kafka_sql_currentSendTime",
        "{{job_name}}",
        "How long the last records took to be acknowledged.",
    ),
    (
        "Open transactions",
        "short",
        "kafka_sql_openTransactions",
        "{{job_name}}",
        "Of the last batch, until it was decided.",
    ),
]


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    chosen = {
        "name": "job",
        "label": "Query",
        "type": "query",
        "datasource": _SOURCE,
        "query": "label_values(kafka_sql_numRecordsIn, job_name)",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }
    source = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "title": "kafka_sql",
        "uid": "kafka-sql",
        "description": "Lag, throughput and commits of continuous queries",
        "tags": ["kafka", "spark"],
        "timezone": "browser",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [source, chosen]},
        "panels": [_panel(number, *panel) for number, panel in enumerate(_PANELS)],
    }


def text() -> str:
    """The dashboard as JSON."""
    return json.dumps(dashboard(), indent=2) + "\n"


def _panel(number: int, title: str, unit: str, metric: str, legend: str, description: str) -> dict[str, Any]:
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "description": description,
        "datasource": _SOURCE,
        "gridPos": {"h": 8, "w": 12, "x": 12 * (number % 2), "y": 8 * (number // 2)},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [{"refId": "A", "expr": metric + _CHOSEN, "legendFormat": legend}],
    }


if __name__ == "__main__":
    PAGE.write_text(text())
