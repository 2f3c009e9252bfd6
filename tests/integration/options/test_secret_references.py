"""Test options whose values are references to files, in statements that are executed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from kafka_sql.errors import KafkaSqlError
from tests.topics import Topics

pytestmark = pytest.mark.integration


def test_secrets_by_reference(sql: Callable[..., Any], topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    (tmp_path / "kafka.properties").write_text(f"servers={topics.bootstrap}\n")
    reference = f"${{file:{tmp_path}/kafka.properties:servers}}"
    options = {"properties.bootstrap.servers": reference}
    sql(f"CREATE TABLE t (a INT) {topics.with_options(topic, **options)}")
    sql("INSERT INTO t VALUES (1)")
    assert [tuple(row) for row in sql("SELECT * FROM t").collect()] == [(1,)]
    assert topics.bootstrap not in sql("SHOW CREATE TABLE t").collect()[0][0]
    (tmp_path / "kafka.properties").unlink()
    with pytest.raises(
        (KafkaSqlError, PySparkException), match=r"'properties.bootstrap.servers': reference .* cannot be read"
    ):
        sql("SELECT * FROM t").collect()
