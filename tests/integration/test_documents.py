"""The pages' own code, run from top to bottom on a real broker: SQL that does more than declare, and all Python."""

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

from kafka_sql.cli.splitter import statements
from tests.documents import ROOT, Block, blocks, pages, renamed, topics_of
from tests.topics import Topics

pytestmark = pytest.mark.integration


def runs(block: Block) -> bool:
    """Whether a block has something that a broker or Spark must do."""
    if block.reason is not None or block.language not in ("sql", "python"):
        return False
    return block.language == "python" or re.search(r"^(?!CREATE|--|\s|\))\w+", block.text, re.MULTILINE) is not None


# the README has a test of its own, which looks at the figures, too
# three brokers and a registry of its own; what the quick start does, in other words
LONG = dict.fromkeys(["embedded.md", "deployment.md"], pytest.mark.long)
PAGES = [path for path in pages() if path.name != "README.md" and any(runs(block) for block in blocks(path))]


@pytest.fixture
def loggers() -> Iterator[None]:
    """The logging of before, afterwards."""
    ours, root = logging.getLogger("kafka_sql"), logging.getLogger()
    before = [(logger, logger.level, list(logger.handlers)) for logger in (ours, root)]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.mark.usefixtures("loggers")
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=LONG.get(p.name, ())) for p in PAGES],
    ids=[p.relative_to(ROOT).as_posix() for p in PAGES],
)
def test_page(
    path: Path, spark: Any, sql: Callable[[str], Any], topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = f"-{uuid.uuid4().hex[:8]}"
    text = renamed(path.read_text(), ending).replace("localhost:9092", topics.bootstrap)
    text = re.sub(r"'/(?:data|tmp)/\w*checkpoints'", f"'{tmp_path}/checkpoints'", text).replace("port=9249", "port=0")
    new = [NewTopic(name, 1, 1, config={"retention.ms": "-1"}) for name in topics_of(text)]
    for done in topics.admin.create_topics(new).values() if new else ():
        done.result(30)
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
