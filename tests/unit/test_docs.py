"""Documentation that is made from the code is the code's, and its statements are understood."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from kafka_sql.definition import define
from kafka_sql.sql.create import parse_create
from tools import options_page, properties_page

ROOT = Path(__file__).parents[2]
BLOCKS = [
    (path.relative_to(ROOT), statement)
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    for block in re.findall(r"^```sql\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
    for statement in re.split(r";\n", block)
    if statement.strip().startswith("CREATE TABLE")
]


@pytest.mark.parametrize("made", [options_page, properties_page], ids=lambda m: m.PAGE.name)
def test_pages_of_the_tables_are_up_to_date(made: ModuleType) -> None:
    assert made.PAGE.read_text() == made.page(), "run: make docs-options"


def test_the_documents_have_examples() -> None:
    assert {path.name for path, _ in BLOCKS} >= {"json.md", "raw.md"}


@pytest.mark.parametrize(("path", "statement"), BLOCKS, ids=lambda v: getattr(v, "name", ""))
def test_declared_tables_are_understood(path: Path, statement: str) -> None:
    assert define(parse_create(statement)).table.columns


@pytest.mark.parametrize("path", sorted((ROOT / "ddl_examples/demo").glob("*.sql")), ids=lambda p: p.name)
def test_example_files_declare_what_they_say(path: Path) -> None:
    statement = path.read_text().replace("${bootstrap}", "localhost:9092")
    if "CREATE TABLE" in statement:
        assert define(parse_create(statement)).table.columns
    assert statement.startswith("-- ")  # the demo prints the first line as the heading
