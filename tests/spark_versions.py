"""Marks of tests that need a newer Spark than the oldest supported one (docs/versions.md)."""

from __future__ import annotations

import pytest
from pyspark import __version__ as spark_version

needs_limits = pytest.mark.skipif(spark_version < "4.2", reason="limits of micro-batches need PySpark 4.2")
needs_source_metrics = pytest.mark.skipif(spark_version < "4.2", reason="metrics of sources need PySpark 4.2")
needs_common_time_types = pytest.mark.skipif(
    spark_version < "4.3", reason="TIME values of several precisions have a common type since Spark 4.3"
)
