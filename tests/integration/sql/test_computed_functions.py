"""A Python function that is registered in the session is called by computed columns, in batches and streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_sql.errors import UnsupportedSqlError
from tests.topics import Topics

pytestmark = pytest.mark.integration


def test_python_function(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    spark.udf.register("shout", lambda text: None if text is None else text.upper() + "!", "string")
    columns = "id INT, name STRING, loud AS shout(name), size_of AS CHAR_LENGTH(shout(name)) / 2"
    sql(f"CREATE TEMPORARY TABLE people ({columns}) {topics.with_options(topic)}")
    sql("INSERT INTO people VALUES (1, 'ann'), (2, NULL), (3, 'bo')")
    expected = [(1, "ann", "ANN!", 2), (2, None, None, None), (3, "bo", "BO!", 1)]
    assert sql("SELECT * FROM people ORDER BY id").collect() == expected
    assert spark.table("people").orderBy("id").collect() == expected

    stream = spark.readStream.table("people").writeStream.format("memory").queryName("shouted")
    stream.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()
    assert spark.table("shouted").orderBy("id").collect() == expected
    spark.catalog.dropTempView("shouted")
    sql("DROP TEMPORARY TABLE people")

    with pytest.raises(UnsupportedSqlError, match="calls shout, which is a temporary function"):
        sql(f"CREATE TABLE people ({columns}) {topics.with_options(topic)}")
    assert not spark.catalog.tableExists("people")
    spark.sql("DROP TEMPORARY FUNCTION shout")
