"""Run the code in the README, with only the broker address and the checkpoint folder replaced."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration
README = Path(__file__).parents[2] / "README.md"


def test_the_code_in_the_readme_runs(spark: Any, sql: Any, topics: Topics, tmp_path: Path, capsys: Any) -> None:
    topics.delete("orders")  # the example creates it
    topics.create_named("revenue")
    declare, stream = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(declare.replace("localhost:9092", topics.bootstrap), names)
    assert names["spark"] is spark
    assert re.search(r"\|\s*1\|\s*29\.97\|", capsys.readouterr().out)
    sql(f"CREATE TABLE revenue (t TIMESTAMP_LTZ(3), country STRING, r DECIMAL(20, 2)) {topics.with_options('revenue')}")
    exec(stream.replace("/data/checkpoints", str(tmp_path)), names)
    (query,) = spark.streams.active
    assert query.name == "revenue"
    query.processAllAvailable()
    query.stop()
