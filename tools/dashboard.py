"""Generate the Grafana dashboard of the Prometheus metrics, docs/grafana.json: ``python -m tools.dashboard``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

PATH: Final = Path(__file__).parents[1] / "docs" / "grafana.json"
_DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_JOB_FILTER: Final = '{job_name=~"$job"}'

# title, unit, metric, legend, description
_PANELS: Final = [
    (
        "Pending records",
        "short",
        "kafka_sql_pendingRecords",
        "{{job_name}} {{table}}",
        "Offsets that have not been read. If they increase continuously, the query is too slow.",
    ),
    (
        "Lag per partition",
        "short",
        "kafka_sql_records_lag",
        "{{topic}}[{{partition}}]",
        "Unread offsets. If one partition is far above the others, keys are skewed or its leader is slow.",
    ),
    ("Rows in", "rowsps", "kafka_sql_numRecordsInPerSecond", "{{job_name}}", "Rows per second of the last batch."),
    (
        "Bytes in",
        "Bps",
        "kafka_sql_numBytesInPerSecond",
        "{{job_name}}",
        "Bytes of columns per second of the last batch.",
    ),
    (
        "Rows read since start",
        "short",
        "kafka_sql_numRecordsIn",
        "{{job_name}}",
        "Reset when the query restarts.",
    ),
    (
        "Undecodable records",
        "short",
        "kafka_sql_numRecordsInErrors",
        "{{job_name}}",
        "Skipped, or written to the dead letter topic.",
    ),
    (
        "Skipped records",
        "short",
        "kafka_sql_numRecordsSkipped",
        "{{job_name}}",
        "Undecodable records that were skipped.",
    ),
    (
        "Dead letters",
        "short",
        "kafka_sql_numDeadLetters",
        "{{job_name}}",
        "Undecodable records that were written to the dead letter topic.",
    ),
    (
        "Offsets without a row",
        "short",
        "kafka_sql_numRecordsWithoutRow",
        "{{job_name}}",
        "Skipped records, dead letters, tombstones, and gaps that transactions and compaction leave.",
    ),
    ("Bytes read since start", "bytes", "kafka_sql_numBytesIn", "{{job_name}}", "Reset when the query restarts."),
    (
        "Event time lag",
        "ms",
        "kafka_sql_currentEmitEventTimeLag",
        "{{job_name}}",
        "Age of the latest event of the last batch, at the end of the batch.",
    ),
    ("Watermark lag", "ms", "kafka_sql_watermarkLag", "{{job_name}}", "Lag of the watermark behind the clock."),
    (
        "Late rows",
        "short",
        "kafka_sql_numLateRecordsDropped",
        "{{job_name}}",
        "Rows that were dropped because they were behind the watermark.",
    ),
    ("Idle time", "ms", "kafka_sql_sourceIdleTime", "{{job_name}}", "Time since a row was read."),
    (
        "Current offset",
        "none",
        "kafka_sql_currentOffset",
        "{{topic}}[{{partition}}]",
        "The next offset of each partition.",
    ),
    (
        "Committed offset",
        "none",
        "kafka_sql_committedOffset",
        "{{topic}}[{{partition}}]",
        "The offset last committed to Kafka, as other tools show it.",
    ),
    (
        "Commits",
        "short",
        "kafka_sql_commitsSucceeded",
        "{{job_name}} {{table}}",
        "Successful offset commits since the start of the query.",
    ),
    (
        "Failed commits",
        "short",
        "kafka_sql_commitsFailed",
        "{{job_name}} {{table}}",
        "Offset commits that failed. The query continues. Another application may be using the same group.",
    ),
    (
        "Records in per Kafka client",
        "short",
        "kafka_sql_numRecordsInByClient",
        "{{table}} {{client}}",
        "Records read since the query's start. librdkafka reads what the direct client does not support.",
    ),
    ("Rows out", "short", "kafka_sql_numRecordsOut", "{{job_name}}", "Rows written by the sink."),
    ("Bytes out", "bytes", "kafka_sql_numBytesOut", "{{job_name}}", "Size of the keys and values, before compression."),
    (
        "Rows out per Kafka client",
        "short",
        "kafka_sql_numRecordsOutByClient",
        "{{table}} {{client}}",
        "Rows written since the query's start.",
    ),
    (
        "Write errors",
        "short",
        "kafka_sql_numRecordsOutErrors",
        "{{job_name}}",
        "Errors that brokers reported. The client retries most of them.",
    ),
    (
        "Send time",
        "ms",
        "kafka_sql_currentSendTime",
        "{{job_name}}",
        "Time until the last records of the last batch were acknowledged.",
    ),
    (
        "Open transactions",
        "short",
        "kafka_sql_openTransactions",
        "{{job_name}}",
        "Transactions in which the last batch was written; 0 with at-least-once delivery.",
    ),
]


def build_dashboard() -> dict[str, Any]:
    """Return the dashboard in Grafana's import format."""
    job_variable = {
        "name": "job",
        "label": "Query",
        "type": "query",
        "datasource": _DATASOURCE,
        "query": "label_values(kafka_sql_numRecordsIn, job_name)",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }
    source_variable = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "title": "kafka_sql",
        "uid": "kafka-sql",
        "description": "Lag, throughput and commits of streaming queries",
        "tags": ["kafka", "spark"],
        "timezone": "browser",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [source_variable, job_variable]},
        "panels": [_build_panel(index, *panel) for index, panel in enumerate(_PANELS)],
    }


def to_json(dashboard: dict[str, Any]) -> str:
    """Return the content of the file."""
    return json.dumps(dashboard, indent=2) + "\n"


def _build_panel(index: int, title: str, unit: str, metric: str, legend: str, description: str) -> dict[str, Any]:
    return {
        "id": index + 1,
        "type": "timeseries",
        "title": title,
        "description": description,
        "datasource": _DATASOURCE,
        "gridPos": {"h": 8, "w": 12, "x": 12 * (index % 2), "y": 8 * (index // 2)},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [{"refId": "A", "expr": metric + _JOB_FILTER, "legendFormat": legend}],
    }


if __name__ == "__main__":
    PATH.write_text(to_json(build_dashboard()))
