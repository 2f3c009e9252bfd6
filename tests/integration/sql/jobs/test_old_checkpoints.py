"""Checkpoints and SHOW CREATE TABLE output of a revision before modules and classes were renamed still work."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicCollection

from kafka_sql.sql.recognize.splitter import statements
from tests.topics import Topics

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        version("pyspark").startswith(("4.1.", "4.2.")),
        reason="Spark 4.3 wrote the state; older versions cannot read it",
    ),
]
FOLDER = Path(__file__).with_name("written_before_renaming")
TOPIC_ID = "6c5zMA2lRv6lAV1233xXMA"  # of compat-source, when the checkpoints were written
STATEMENTS = {
    "copy": "INSERT INTO compat_copy SELECT a, twice FROM compat_source",
    "once": "INSERT INTO compat_once SELECT a, twice FROM compat_source",
    "counts": "INSERT INTO compat_counts SELECT a % 2, count(*) FROM compat_source GROUP BY a % 2",
}


@pytest.fixture
def old_declarations(sql: Any, topics: Topics) -> list[str]:
    """Declare the tables with what SHOW CREATE TABLE of the old revision printed; return these statements."""
    text = (FOLDER / "tables.sql").read_text().replace("BROKER", topics.bootstrap)
    declarations = [statement.text for statement in statements(text)]
    for declaration in declarations:
        sql(declaration)
    return declarations


def test_show_create_table_is_read_and_printed_as_before(sql: Any, old_declarations: list[str]) -> None:
    names = ("compat_source", "compat_copy", "compat_once", "compat_counts")
    printed = [sql(f"SHOW CREATE TABLE {name}").collect()[0][0] for name in names]
    assert printed == [declaration[declaration.index("CREATE") :] for declaration in old_declarations]


@pytest.mark.usefixtures("old_declarations")
def test_queries_resume_from_their_checkpoints(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    source = topics.create_named("compat-source", 2)
    for target in ("compat-copy", "compat-once", "compat-counts"):
        topics.delete(target)
    topics.produce(source, b'{"a": 1}', b'{"a": 2}', b'{"a": 3}')  # the batches in the checkpoints have read these
    description = topics.admin.describe_topics(TopicCollection([source]))[source].result(30)
    shutil.copytree(FOLDER / "checkpoints", tmp_path, dirs_exist_ok=True)
    for offsets in tmp_path.glob("*/offsets/*"):
        text = offsets.read_text()
        assert TOPIC_ID in text
        offsets.write_text(text.replace(TOPIC_ID, str(description.topic_id)))
    topics.produce(source, b'{"a": 4}')
    topics.produce(source, b'{"a": 5}', partition=1)

    sql("SET 'execution.runtime-mode' = 'streaming'")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    for name, statement in STATEMENTS.items():
        sql(f"SET 'pipeline.name' = '{name}'")
        sql(statement)
    for query in spark.streams.active:
        query.processAllAvailable()
        query.stop()

    for topic in ("compat-copy", "compat-once"):
        rows = [json.loads(m.value() or b"") for m in topics.consume(topic, 2, **{"isolation.level": "read_committed"})]
        assert sorted(rows, key=str) == [{"a": 4, "twice": 8}, {"a": 5, "twice": 10}]
    counts = {
        json.loads(m.key() or b"")["k"]: json.loads(m.value() or b"")["n"] for m in topics.consume("compat-counts", 2)
    }
    assert counts == {0: 2, 1: 3}
