"""Make Spark mask the secrets in options of ``format("kafka_sql")``, which its plans, UI and event log show."""

from __future__ import annotations

from typing import Final

from pyspark.sql import SparkSession

from kafka_sql.options.masking import secret_options_pattern
from kafka_sql.spark.context import is_pipeline

_CONF: Final = "spark.sql.redaction.options.regex"
_DEFAULT: Final = "(?i)url"  # Spark's; it also masks keys with secret, password, token and access.key


def redact_options(spark: SparkSession) -> None:
    """Extend the default of ``spark.sql.redaction.options.regex``. A user's own value stays unchanged.

    A Declarative Pipeline does not allow its files to set configurations.
    """
    if not is_pipeline() and spark.conf.get(_CONF, _DEFAULT) == _DEFAULT:
        spark.conf.set(_CONF, secret_options_pattern())
