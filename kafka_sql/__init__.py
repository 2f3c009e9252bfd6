"""Flink's Kafka SQL tables on Apache Spark: ``kafka_sql.enable(spark)``, then ``spark.sql()`` takes Flink's CREATE
TABLE ... WITH (...).
"""

from typing import TYPE_CHECKING, Any

from kafka_sql.errors import KafkaSqlError

if TYPE_CHECKING:
    from kafka_sql.sql.check import check
    from kafka_sql.sql.install import install
    from kafka_sql.sql.session import enable

__all__ = ["KafkaSqlError", "check", "enable", "install"]


def __getattr__(name: str) -> Any:
    """A function when it is first asked for: Spark's Python workers import this package too, and need no SQL parser."""
    if name == "enable":
        from kafka_sql.sql.session import enable

        return enable
    if name == "check":
        from kafka_sql.sql.check import check

        return check
    if name == "install":
        from kafka_sql.sql.install import install

        return install
    raise AttributeError(f"module 'kafka_sql' has no attribute '{name}'")
