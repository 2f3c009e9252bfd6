"""Read the metrics of continuous queries in the program (``observe``), or serve them to Prometheus."""

from kafka_sql.observability.listener import Observer, observe
from kafka_sql.observability.metrics import JobMetrics, SourceMetrics

__all__ = ["JobMetrics", "Observer", "SourceMetrics", "observe"]
