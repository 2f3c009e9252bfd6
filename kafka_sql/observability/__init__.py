"""What continuous queries say of their Kafka sources: pending records, offsets, commits, lags, under Flink's names.

From Spark's own progress (metrics), kept by a listener (listener), and as Prometheus text on a port (prometheus).
"""

from kafka_sql.observability.listener import Observer, observe
from kafka_sql.observability.metrics import JobMetrics, SourceMetrics

__all__ = ["JobMetrics", "Observer", "SourceMetrics", "observe"]
