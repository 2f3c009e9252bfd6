"""Flink's Kafka SQL connector on Apache Spark: after ``kafka_sql.enable(spark)``, ``spark.sql()`` also accepts Flink's
``CREATE TABLE ... WITH (...)``.

The names in ``__all__`` and the package ``kafka_sql.embedded`` are the public API (docs/api.md); everything else may
change.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from kafka_sql import errors
from kafka_sql.errors import KafkaSqlError
from kafka_sql.runtime.system_librdkafka import load_system_librdkafka
from kafka_sql.version import VERSION

if TYPE_CHECKING:
    from kafka_sql import metrics, transactions
    from kafka_sql.sql.session.check import check
    from kafka_sql.sql.session.enable import enable, install

__version__ = VERSION
load_system_librdkafka()  # before any module imports confluent_kafka

__all__ = [
    "KafkaSqlError",
    "__version__",
    "check",
    "enable",
    "errors",
    "install",
    "metrics",
    "transactions",
]

# Imported on first access: Spark's Python workers import this package, too, and need neither Spark nor the SQL parser.
_FUNCTIONS: Final = {
    "check": "kafka_sql.sql.session.check",
    "enable": "kafka_sql.sql.session.enable",
    "install": "kafka_sql.sql.session.enable",
}
_MODULES: Final = ("metrics", "transactions")


def __getattr__(name: str) -> Any:
    """Import a public function or module on first access."""
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(_FUNCTIONS[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"kafka_sql.{name}")
    raise AttributeError(f"module 'kafka_sql' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Return the public names, whether or not they were imported yet."""
    return sorted(__all__)
