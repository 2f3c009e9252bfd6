"""What ``import kafka_sql`` offers, and what it does not import."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import kafka_sql
from tests.documents import ROOT

NAMES = ["KafkaSqlError", "__version__", "check", "enable", "errors", "install", "metrics", "transactions"]


def test_dir_lists_the_public_names() -> None:
    assert dir(kafka_sql) == sorted(kafka_sql.__all__) == sorted(NAMES)


def test_each_public_name_exists() -> None:
    assert [name for name in NAMES if getattr(kafka_sql, name, None) is None] == []
    assert all(
        hasattr(module, name) for module in (kafka_sql.metrics, kafka_sql.transactions) for name in module.__all__
    )


def test_other_names_are_attribute_errors() -> None:
    assert not hasattr(kafka_sql, "enabled")


def test_the_documentation_names_the_public_modules() -> None:
    page = Path(ROOT, "docs/api.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^::: (\S+)", page, re.MULTILINE))
    assert {
        f"kafka_sql.{name}" for name in ("check", "enable", "errors", "install", "metrics", "transactions")
    } <= documented


def test_the_versions_agree() -> None:
    for file, pattern in (
        ("pyproject.toml", r'^version = "(.+)"'),
        ("dbt_kafka_sql/dbt_project.yml", r"^version: (.+)"),
    ):
        match = re.search(pattern, Path(ROOT, file).read_text(encoding="utf-8"), re.MULTILINE)
        assert match is not None
        assert match[1] == kafka_sql.__version__, file


def test_importing_the_package_imports_little() -> None:
    code = "import sys, kafka_sql; print([n for n in ('pyspark', 'pyarrow', 'sqlglot') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
