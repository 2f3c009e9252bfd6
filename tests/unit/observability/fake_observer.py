"""Provide fixed job metrics without Spark."""

from __future__ import annotations

from kafka_sql.observability.metrics import JobMetrics, SourceMetrics


class FakeObserver:
    """Provides the metrics of two queries; the second one has none yet."""

    def jobs(self) -> dict[str, JobMetrics]:
        table = SourceMetrics("default.src", {("a", 0): 5}, {("a", 0): 7}, {}, 3, 1)
        return {
            "id-1": JobMetrics(
                "copy",
                [table],
                5,
                records_without_row=3,
                rows_measured=4,
                bytes_measured=8,
                last_read=0,
                records_in_by_client={("default.src", "direct"): 4, ("default.src", "librdkafka"): 1},
            ),
            "id-2": JobMetrics(),
        }
