"""Run the code blocks of the documentation with a real broker: Python, and SQL that does more than declare tables."""

from __future__ import annotations

import logging
import re
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from kafka_sql.sql.recognize.splitter import statements
from tests.documents import ROOT, Block, blocks, pages, rename_topics, topic_names
from tests.topics import Topics

pytestmark = pytest.mark.integration


def runs(block: Block) -> bool:
    """Return whether a block must run with a broker or Spark."""
    if block.reason is not None or block.language not in ("sql", "python"):
        return False
    return block.language == "python" or re.search(r"^(?!CREATE|--|\s|\))\w+", block.text, re.MULTILINE) is not None


# What a newcomer reads first. The examples of other pages are long: other tests check the rows that they show.
GATE = ("quick-start.md", "statements.md", "source.md", "sink.md")
# The README has a separate test, which also checks results.
PAGES = [path for path in pages() if path.name != "README.md" and any(runs(block) for block in blocks(path))]


@pytest.fixture
def loggers() -> Iterator[None]:
    """Restore the logging configuration."""
    package, root = logging.getLogger("kafka_sql"), logging.getLogger()
    before = [(logger, logger.level, list(logger.handlers)) for logger in (package, root)]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.mark.usefixtures("loggers")
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=[] if p.name in GATE else pytest.mark.long) for p in PAGES],
    ids=[p.relative_to(ROOT).as_posix() for p in PAGES],
)
def test_page(
    path: Path, spark: Any, sql: Callable[[str], Any], topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffix = f"-{uuid.uuid4().hex[:8]}"
    text = rename_topics(path.read_text(), suffix).replace("localhost:9092", topics.bootstrap)
    text = re.sub(r"'/(?:data|tmp)/\w*checkpoints'", f"'{tmp_path}/checkpoints'", text).replace("port=9249", "port=0")
    text = text.replace("LOCATION '/data", f"LOCATION '{tmp_path}")
    new = [NewTopic(name, 1, 1, config={"retention.ms": "-1"}) for name in topic_names(text)]
    for future in topics.admin.create_topics(new).values() if new else ():
        future.result(30)
    monkeypatch.setattr(sys, "argv", ["python"])
    names: dict[str, Any] = {"spark": spark, "__name__": "__main__"}
    for block in blocks(path, text):
        for statement in statements(block.first):
            sql(statement.text)
        if block.reason is None and block.language == "sql":
            for statement in statements(block.text):
                frame = sql(statement.text)
                if frame.columns and not frame.isStreaming:
                    frame.collect()
                for query in spark.streams.active:
                    query.processAllAvailable()
        elif block.reason is None and block.language == "python":
            exec(compile(block.text, str(block), "exec"), names)
