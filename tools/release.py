"""Build a release in ``dist``, and check it: ``python -m tools.release`` (make release). Nothing is published.

    python -m tools.release           # requires committed files and a date in the changelog
    python -m tools.release --draft   # without these requirements

The steps: check that all files have the same version; build the source distribution, and the wheel from it; check the
metadata with twine; install the wheel into a new environment and run ``tools/smoke.py`` there; write the notes.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Final

from kafka_sql.version import VERSION

ROOT: Final = Path(__file__).parents[1]
DIST: Final = ROOT / "dist"
NOTES: Final = "RELEASE_NOTES.md"
_NAMED_VERSION: Final = re.compile(r"kafka_sql-(\d+\.\d+\.\d+)-py3|spark-kafka-sql:(\d+\.\d+\.\d+)")


def version_problems(root: Path, version: str) -> list[str]:
    """Return what does not have the version: pyproject.toml, or file names in the documentation."""
    problems = []
    declared = re.search(r'^version = "(.*)"$', (root / "pyproject.toml").read_text(), re.MULTILINE)
    if declared is None or declared[1] != version:
        problems.append(f"pyproject.toml does not have the version {version} of kafka_sql/version.py")
    for page in sorted((root / "docs").rglob("*.md")):
        for match in _NAMED_VERSION.finditer(page.read_text(encoding="utf-8")):
            if (match[1] or match[2]) != version:
                problems.append(f"{page.relative_to(root)} names {match[0]!r}, but the version is {version}")
    return problems


def changelog_section(text: str, version: str) -> tuple[str, str]:
    """Return the date and the text of a version in the changelog; the date is ``unreleased`` before the release.

    Raises:
        ValueError: the first version of the changelog is another one, or has no text.
    """
    first = re.search(r"^## (\S+) \(([^)]*)\)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if first is None or first[1] != version or not first[3].strip():
        raise ValueError(f"CHANGELOG.md must begin with a section '## {version} (<date>)' that lists the changes.")
    return first[2], first[3].strip()


def release_problems(date: str, changed_files: str, tags: str) -> list[str]:
    """Return why this version must not be published now.

    Args:
        date: from the changelog.
        changed_files: output of ``git status --porcelain``.
        tags: output of ``git tag``.
    """
    problems = []
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        problems.append(f"the changelog has the date '{date}': write the date of the release, such as 2026-01-31")
    if changed_files.strip():
        problems.append(f"there are uncommitted files:\n{changed_files.rstrip()}")
    if f"v{VERSION}" in tags.split():
        problems.append(f"the tag v{VERSION} exists: a version is released once. Increase it in kafka_sql/version.py")
    return problems


def build() -> list[Path]:
    """Build both distributions, the wheel from the source distribution. Return their paths."""
    shutil.rmtree(DIST, ignore_errors=True)
    hatch = [sys.executable, "-m", "hatchling", "build", "--directory", str(DIST), "--target"]
    _run(*hatch, "sdist", cwd=ROOT)
    (source,) = DIST.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(source, folder, filter="data")
        (unpacked,) = Path(folder).iterdir()
        _run(*hatch, "wheel", cwd=unpacked)
    (wheel,) = DIST.glob("*.whl")
    return [source, wheel]


def check(source: Path, wheel: Path) -> None:
    """Check the metadata, and run the smoke test in an environment that has only the wheel and its dependencies."""
    _run(sys.executable, "-m", "twine", "check", "--strict", str(source), str(wheel), cwd=DIST)
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "env/bin/python")
        venv.create(Path(folder, "env"), with_pip=True)
        _run(str(ROOT / "tools/install.sh"), str(python), str(wheel), cwd=Path(folder))
        _run(str(python), "-m", "pip", "check", cwd=Path(folder))
        shutil.copy(ROOT / "tools/smoke.py", folder)
        _run(str(python), "smoke.py", VERSION, cwd=Path(folder))


def notes(changes: str, files: list[Path]) -> str:
    """Return the release notes: the changes, and the checksums of the files."""
    sums = "\n".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files)
    return f"# kafka_sql {VERSION}\n\n{changes}\n\n## Checksums (SHA-256)\n\n```\n{sums}\n```\n"


def main(arguments: list[str] | None = None) -> int:
    """Build and check a release. Return 0, or 1 if something must be fixed first."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description="Build a release and check it.")
    parser.add_argument("--draft", action="store_true", help="allow uncommitted files and a version without a date")
    draft = parser.parse_args(arguments).draft
    date, changes = changelog_section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), VERSION)
    problems = version_problems(ROOT, VERSION)
    if not draft:
        problems += release_problems(date, _git("status", "--porcelain"), _git("tag"))
    if problems:
        print("Not released:", *problems, sep="\n- ", file=sys.stderr)
        return 1
    files = build()
    check(*files)
    (DIST / NOTES).write_text(notes(changes, files), encoding="utf-8")
    names = " ".join(f"dist/{path.name}" for path in files)
    print(f"{names} and dist/{NOTES} are complete.")
    print("This was a draft." if draft else f"Publish: git tag v{VERSION} && {sys.executable} -m twine upload {names}")
    return 0


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _run(*command: str, cwd: Path) -> None:
    subprocess.run(command, cwd=cwd, check=True)


if __name__ == "__main__":
    sys.exit(main())
