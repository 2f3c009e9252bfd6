"""Generated documentation is up to date, links are valid, and code blocks can be parsed."""

from __future__ import annotations

import ast
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest
import sqlglot
import yaml

from kafka_sql import errors
from kafka_sql.definition import validate_table, validate_without_columns
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.grammar.parser import parse_declaration
from kafka_sql.sql.recognize.classify import classify
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.splitter import statements
from kafka_sql.sql.recognize.statement_types import CreateTable, UnsupportedStatement
from kafka_sql.sql.rewrite.edits import apply_edits
from kafka_sql.sql.rewrite.windows.subqueries import rewrite_windows
from kafka_sql.table.table import Table
from tests.documents import ROOT, Block, anchors, blocks, pages
from tools import flink_programs_page, function_differences_page, options_page, properties_page, spark_internals_page
from tools.docs_site import PROJECT, example_pages, replace_links

ALL = [block for path in pages() for block in blocks(path)]
CONDITIONS = {
    error.condition(): error
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, errors.KafkaSqlError)
}
RUN = {"sql", "python"}  # by tests/integration/test_documents.py, or here if no broker is needed
DATA = {"json": json.loads, "yaml": yaml.safe_load, "xml": ET.fromstring}
SHOWN = {"", "console", "dockerfile"}
# marketing words and needlessly complicated words
VAGUE = re.compile(
    r"\b(leverag\w+|seamless\w*|robust\w*|utili[sz]\w+|effortless\w*|blazing\w*|powerful|cutting-edge|state-of-the-art"
    r"|comprehensive|delv\w+|streamlin\w+|out of the box|world-class|under the hood)\b",
    re.IGNORECASE,
)


GENERATORS = [options_page, properties_page, spark_internals_page, flink_programs_page, function_differences_page]


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda m: m.PAGE.name)
def test_generated_pages_are_up_to_date(generator: ModuleType) -> None:
    assert generator.PAGE.read_text() == generator.page(), "run: make docs-options"


@pytest.mark.parametrize("path", pages(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_are_valid(path: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        to = (path.parent / name).resolve() if name else path
        assert to.exists(), f"{path.name}: {target}"
        if anchor:
            assert anchor in anchors(to.read_text()), f"{path.name}: {target}"


@pytest.mark.parametrize("path", pages(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_vague_words(path: Path) -> None:
    assert not VAGUE.findall(path.read_text())


@pytest.mark.parametrize("block", ALL, ids=str)
def test_blocks_are_well_formed(block: Block) -> None:
    assert block.language in RUN | set(DATA) | SHOWN
    if block.language == "console":
        assert block.reason is not None, "a comment above it must give the reason why no test runs it"
    elif block.reason is None and block.language == "sql":
        for statement in statements(block.text):
            assert_parses(statement.text)
    elif block.language == "python":
        ast.parse(block.text)
    elif block.language in DATA:
        assert DATA[block.language](block.text) is not None


def assert_parses(statement: str) -> None:
    """Parse a statement as a session does, and validate complete declarations."""
    statement_type = classify(statement)
    assert not isinstance(statement_type, UnsupportedStatement), statement
    if isinstance(statement_type, CreateTable):
        declaration = parse_declaration(statement)
        if declaration.like is None and " AS SELECT" not in statement:
            if any(column.is_physical for column in declaration.columns):
                assert validate_table(parse_create(statement)).table.columns
            else:
                validate_without_columns(Table(declaration.name, (), dict(declaration.options or ())))
    elif statement_type is None and not statement.startswith(("EXPLAIN", "EXECUTE")):
        query = QueryText(re.sub(r"/\*\+.*?\*/|\bSTREAM (?=\w)", "", statement))
        rewritten = apply_edits(query.text, rewrite_windows(query, streaming=False).edits)
        assert sqlglot.parse_one(rewritten, dialect="spark") is not None


def test_all_blocks_are_found() -> None:
    fences = sum(len(re.findall(r"^```", path.read_text(), re.MULTILINE)) for path in pages())
    assert fences == 2 * len(ALL)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_error_condition_is_documented(condition: str) -> None:
    text = (ROOT / "docs/troubleshooting.md").read_text()
    sections = dict(re.findall(r"^### ([A-Z_]+)\n\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    paragraph = sections[condition]
    if not CONDITIONS[condition].__subclasses__() or "*Cause:*" in paragraph:
        assert "*Cause:*" in paragraph
        assert "*Fix:*" in paragraph or "*Check:*" in paragraph
    else:
        assert f"except {CONDITIONS[condition].__name__}" in paragraph or "As a condition by itself" in paragraph


def test_only_existing_conditions_are_documented() -> None:
    headings = re.findall(r"^### ([A-Z_]+)$", (ROOT / "docs/troubleshooting.md").read_text(), re.MULTILINE)
    assert len(headings) == len(set(headings))
    assert set(headings) == set(CONDITIONS)


def test_the_tree_of_errors_is_complete() -> None:
    page = (ROOT / "docs/api.md").read_text()
    assert {*re.findall(r"[├└]── (\w+)", page), "KafkaSqlError"} == {error.__name__ for error in CONDITIONS.values()}


def test_links_on_the_site_point_to_its_pages() -> None:
    generated = {*example_pages(), *PROJECT.values()}
    for path in (ROOT / "docs").rglob("*.md"):
        name = path.relative_to(ROOT / "docs").as_posix()
        text = re.sub(
            r"^```.*?^```|`[^`\n]*`", "", replace_links(path.read_text(), name), flags=re.MULTILINE | re.DOTALL
        )
        for target in re.findall(r"\]\(((?!https://)[^)#\s]+)", text):
            to = (path.parent / target).resolve()
            assert to.is_relative_to(ROOT / "docs"), f"{name}: {target}"
            assert to.exists() or to.relative_to(ROOT / "docs").as_posix() in generated, f"{name}: {target}"
    assert replace_links("[x](../ddl_examples/joins.sql)", "keys.md") == "[x](examples/joins.sql.md)"
    assert replace_links("[x](../../ddl_examples/dbt)", "formats/json.md") == "[x](../examples/dbt.md)"
    assert replace_links("[x](../ddl_examples)", "index.md") == "[x](examples/index.md)"
    assert replace_links("[x](../SECURITY.md#a)", "index.md") == "[x](project/security.md#a)"


def test_the_navigation_has_all_pages() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    named = set(re.findall(r"[\w/.-]+\.md", json.dumps(site["nav"])))
    existing = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert named - existing == {"examples/index.md", *PROJECT.values()}
    assert existing <= named, "add the page to mkdocs.yml"


@pytest.mark.parametrize("path", sorted((ROOT / "ddl_examples/demo").glob("*.sql")), ids=lambda p: p.name)
def test_demo_files_are_valid(path: Path) -> None:
    statement = path.read_text().replace("${bootstrap}", "localhost:9092")
    if "CREATE TABLE" in statement:
        assert validate_table(parse_create(statement)).table.columns
    assert statement.startswith("-- ")  # the demo prints the first line as the heading
