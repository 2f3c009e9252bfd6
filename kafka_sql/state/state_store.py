"""Set what the operators need of Spark's state store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.session_settings import changed_settings, user_setting

_PROVIDER_CONF: Final = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_DEFAULTS: Final = {
    _PROVIDER_CONF: _ROCKSDB,
    # each micro-batch uploads what it changed, and not the files of the database
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


@contextmanager
def configure(spark: SparkSession) -> Iterator[None]:
    """Set the session's state store for a ``with`` block in which a query starts. What the user set stays.

    Raises:
        UnsupportedSqlError: the user set another state store.
    """
    provider = user_setting(spark, _PROVIDER_CONF)
    if provider not in (None, _ROCKSDB):
        raise UnsupportedSqlError(
            f"{_PROVIDER_CONF} = {provider}: a query over a changelog keeps old rows or values in the state, for which "
            f"Spark needs RocksDB. Remove the setting, or set it to {_ROCKSDB}."
        )
    added = {key: value for key, value in _DEFAULTS.items() if user_setting(spark, key) is None}
    with changed_settings(spark, added):
        yield
