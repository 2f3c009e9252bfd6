"""Required, locked and tested versions are consistent."""

from __future__ import annotations

import re

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.documents import ROOT, pages
from tools import matrix

TEXT = (ROOT / "pyproject.toml").read_text()


def required() -> list[Requirement]:
    """Return the dependencies of an installation without extras."""
    listed = TEXT[TEXT.index("\ndependencies = [") : TEXT.index("[project.optional-dependencies]")]
    return [Requirement(text) for text in re.findall(r'^    "([^"]+)",', listed, re.MULTILINE)]


def locked() -> dict[str, list[str]]:
    versions: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE):
        versions.setdefault(name.lower().replace("_", "-"), []).append(version)
    return versions


def test_there_are_dependencies() -> None:
    assert {"pyspark", "confluent-kafka", "numba"} <= {requirement.name for requirement in required()}


@pytest.mark.parametrize("requirement", required(), ids=lambda r: r.name)
def test_locked_versions_satisfy_the_requirements(requirement: Requirement) -> None:
    versions = locked()[requirement.name.lower().replace("_", "-")]
    assert all(version in requirement.specifier for version in versions)
    assert requirement.specifier  # a lower bound


def test_releases_that_were_not_tested_are_excluded() -> None:
    assert {r.name for r in required() if not re.search("<[^=]", str(r.specifier))} == {"cryptography"}
    (pyspark,) = [r for r in required() if r.name == "pyspark"]
    major, minor = map(int, matrix.PYSPARKS[-1].split("."))
    assert f"{major}.{minor}.99" in pyspark.specifier
    assert f"{major}.{minor + 1}.0" not in pyspark.specifier


def test_the_page_of_versions_is_up_to_date() -> None:
    page = (ROOT / "docs/versions.md").read_text()
    cells = {name: value.strip() for name, value in re.findall(r"^\| ([\w -]+?) \| ([^|]*)\|", page, re.MULTILINE)}
    assert cells["Python"] == ", ".join(matrix.PYTHONS)
    assert cells["Spark and PySpark"] == ", ".join(matrix.PYSPARKS)
    for requirement in required():
        if re.search("<[^=]", str(requirement.specifier)):
            assert requirement.name in cells, "add it to the table of dependencies"
            bounds = sorted(str(specifier) for specifier in requirement.specifier)
            assert cells[requirement.name] == f"`{', '.join(reversed(bounds))}`"


def test_locked_versions_have_checksums_and_no_url() -> None:
    text = (ROOT / "requirements.lock").read_text()
    blocks = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in block for block in blocks)
    assert "://" not in text


def test_the_matrix_has_all_supported_pythons() -> None:
    supported = SpecifierSet(re.search(r'^requires-python = "(.*)"', TEXT, re.MULTILINE)[1])  # type: ignore[index]
    assert all(version in supported for version in matrix.PYTHONS)
    assert re.findall(r'^    "Programming Language :: Python :: (.*)",', TEXT, re.MULTILINE) == [*matrix.PYTHONS]
    assert "3.9" not in supported
    pairs = matrix.pairs(matrix.PYTHONS, matrix.PYSPARKS)
    assert {python for python, _ in pairs} == set(matrix.PYTHONS)
    assert {pyspark for _, pyspark in pairs} == set(matrix.PYSPARKS)
    assert ("3.10", "4.3") not in pairs


def test_pre_commit_hooks_are_those_of_make_lint() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    entries = " ".join(hook["entry"] for hook in repository["hooks"])
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert lint is not None
    for tool in ("ruff check", "ruff format", "mypy", "lint-imports"):
        assert tool in lint[1]
        assert tool in entries


def test_the_extras_of_the_documentation_exist() -> None:
    listed = TEXT[TEXT.index("[project.optional-dependencies]") :]
    extras = set(re.findall(r"^([a-z]+) = \[$", listed, re.MULTILINE))
    text = "".join(page.read_text() for page in pages())
    documented = {name for names in re.findall(r"kafka-sql\[([\w,]+)\]", text) for name in names.split(",")}
    assert {"connect", "pipelines", "dbt"} <= documented <= extras
