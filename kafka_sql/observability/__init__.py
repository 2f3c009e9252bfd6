"""Report metrics of streaming queries (pending records, offsets, commits, lags) under the names of Flink's metrics.

Metrics are computed from Spark's query progress (metrics), collected by a listener, and exported to Prometheus and
OpenTelemetry.
"""
