"""Report metrics of streaming queries (pending records, offsets, commits, lags) under the names of Flink's metrics.

Metrics are computed from Spark's query progress (metrics), collected by a listener, and exported to Prometheus and
OpenTelemetry.
"""

from kafka_sql.observability.listener import Observer, observe
from kafka_sql.observability.metrics import JobMetrics, SourceMetrics

__all__ = ["JobMetrics", "Observer", "SourceMetrics", "observe"]
