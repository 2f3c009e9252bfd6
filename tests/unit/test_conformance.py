"""docs/conformance.md: no section of Flink's documentation is missing, and each row has an example that is tested."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.documents import ROOT, anchors, blocks

PAGE = ROOT / "docs/conformance.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| Flink's section")
]
# headings in Flink's documentation, and metrics in its tables
SECTIONS = [
    *("Dependency", "Usage", "Topic-partition Subscription", "Deserializer", "Starting Offset", "Boundedness"),
    *("Additional Properties", "Dynamic Partition Discovery", "Event Time and Watermarks", "Idleness"),
    *(
        "Consumer Offset Committing",
        "Monitoring",
        "Kafka Consumer Metrics",
        "Security",
        "Kafka Rack Awareness",
        "RackId",
    ),
    *("Source Split", "Split Enumerator", "Source Reader", "Kafka SourceFunction", "Kafka Sink", "Serializer"),
    *("Fault Tolerance", "Kafka Producer", "The SerializationSchema", "The DeserializationSchema"),
    *("Kafka Producers and Fault Tolerance", "Kafka Consumers and Fault Tolerance", "Kafka Connector Metrics"),
    *("Kafka Consumers Start Position Configuration", "Kafka Consumers Topic and Partition Discovery"),
    "Kafka Consumers Offset Committing Behaviour Configuration",
    "Kafka Consumers and Timestamp Extraction/Watermark Emission",
    *("Enabling Kerberos Authentication", "Upgrading to the Latest Connector Version", "Troubleshooting", "Data loss"),
    *("UnknownTopicOrPartitionException", "ProducerFencedException"),
    *("currentEmitEventTimeLag", "watermarkLag", "sourceIdleTime", "pendingRecords", "currentSendTime"),
    *(f"KafkaSourceReader.{m}" for m in ("commitsSucceeded", "commitsFailed", "committedOffsets", "currentOffsets")),
]


@pytest.mark.parametrize("section", SECTIONS)
def test_no_section_is_missing(section: str) -> None:
    assert any(section in row[0] for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_row_has_a_tested_example(row: list[str]) -> None:
    section, equivalent, example = row
    assert section
    assert equivalent
    tests = re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", example)
    links = re.findall(r"\]\(([^)]+)\)", example)
    assert tests or links
    for path, name in tests:
        assert_test(ROOT / path, name)
    assert tests or any(runs(link) for link in links), "no linked page has a tested block"


def assert_test(path: Path, name: str) -> None:
    assert path.exists()
    if path.suffix == ".py":
        functions = {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}
        assert name in functions if name else any(function.startswith("test_") for function in functions)


def runs(link: str) -> bool:
    """Return whether a link points to a tested example: a SQL file, or a section with SQL or Python."""
    name, _, anchor = link.partition("#")
    path = (PAGE.parent / name).resolve()
    if path.suffix == ".sql":
        return path.parent == ROOT / "ddl_examples"  # test_sql_files.py runs all of them
    lines = path.read_text().splitlines()
    begin, end = 0, len(lines)
    if anchor:
        headings = [i for i, line in enumerate(lines) if re.match("#+ ", line)]
        begin = next(i for i in headings if anchors(lines[i]) == {anchor})
        end = next((i for i in headings if i > begin), end)
    return any(
        begin < block.line <= end
        for block in blocks(path)
        if block.reason is None and block.language in ("sql", "python")
    )
