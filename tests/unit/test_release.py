"""A release has one version everywhere, a date, and notes. make release builds and checks it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kafka_sql.version import VERSION
from tests.documents import ROOT
from tools.release import changelog_section, notes, release_problems, version_problems

CHANGELOG = "# Changelog\n\n## 1.1.0 (2026-01-31)\n\n### Added\n\n- a\n\n## 1.0.0 (2025-01-31)\n\n- b\n"


def project(folder: Path, version: str, page: str) -> Path:
    """Create the files that contain the version."""
    (folder / "pyproject.toml").write_text(f'[project]\nname = "kafka-sql"\nversion = "{version}"\n')
    (folder / "docs").mkdir()
    (folder / "docs/deployment.md").write_text(page)
    return folder


def test_all_files_have_the_version() -> None:
    assert version_problems(ROOT, VERSION) == []


def test_files_with_another_version(tmp_path: Path) -> None:
    root = project(tmp_path, "1.0.0", "kafka_sql-1.1.0-py3-none-any.whl, spark-kafka-sql:1.0.0")
    assert version_problems(root, "1.1.0") == [
        "pyproject.toml does not have the version 1.1.0 of kafka_sql/version.py",
        "docs/deployment.md names 'spark-kafka-sql:1.0.0', but the version is 1.1.0",
    ]
    assert version_problems(root, "1.0.0") == [
        "docs/deployment.md names 'kafka_sql-1.1.0-py3', but the version is 1.0.0",
    ]


def test_the_changelog_has_the_version() -> None:
    date, changes = changelog_section((ROOT / "CHANGELOG.md").read_text(), VERSION)
    assert date
    assert changes.startswith("### ")


def test_the_section_of_a_version() -> None:
    assert changelog_section(CHANGELOG, "1.1.0") == ("2026-01-31", "### Added\n\n- a")


@pytest.mark.parametrize("version", ["1.0.0", "1.1.1"])
def test_the_changelog_must_begin_with_the_version(version: str) -> None:
    with pytest.raises(ValueError, match=f"must begin with a section '## {version} "):
        changelog_section(CHANGELOG, version)


def test_a_version_is_released_once_and_completely() -> None:
    assert release_problems("2026-01-31", "", "v0.0.1\n") == []
    date, files, tag = release_problems("unreleased", " M README.md\n", f"v0.0.1\nv{VERSION}\n")
    assert "'unreleased': write the date" in date
    assert " M README.md" in files
    assert f"the tag v{VERSION} exists" in tag


def test_notes_have_the_changes_and_checksums(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"wheel")
    text = notes("- a change", [tmp_path / "a.whl"])
    assert text.startswith(f"# kafka_sql {VERSION}\n\n- a change\n")
    assert f"{hashlib.sha256(b'wheel').hexdigest()}  a.whl" in text
