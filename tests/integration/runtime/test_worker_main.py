from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyspark
import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.integration


def test_workers_load_pyspark_from_its_folder(spark: SparkSession) -> None:
    def where(_: Any) -> str:
        import pyspark as workers

        return str(workers.__file__)

    assert spark.sparkContext.parallelize([1], 1).map(where).collect() == [pyspark.__file__]
