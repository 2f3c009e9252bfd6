"""The lock files list all dependencies with checksums, and the documented installation with them works."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.documents import ROOT
from tools.lock import AUDIT, BASE, CLUSTER, DEV, PYSPARK_LOCKS
from tools.matrix import IMPOSSIBLE, PYSPARKS, PYTHONS

LOCKS = [BASE, DEV, *PYSPARK_LOCKS.values()]
GUIDE = (ROOT / "docs" / "deployment.md").read_text()
PYPROJECT = (ROOT / "pyproject.toml").read_text()
EXTRAS = {BASE: "", DEV: "dev"}


class Pin(NamedTuple):
    """A line of a lock file: ``name==version ; marker``, and its checksums."""

    requirement: Requirement
    hashes: list[str]

    @property
    def version(self) -> str:
        (specifier,) = self.requirement.specifier
        assert specifier.operator == "=="
        return specifier.version


def read_lock(path: Path) -> list[Pin]:
    """Return the pins of a lock file. Every line must belong to one."""
    pins = []
    for text in path.read_text().replace("\\\n", " ").splitlines():
        if not text.startswith("#"):
            requirement, *hashes = re.split(r"\s+--hash=", text.strip())
            pins.append(Pin(Requirement(requirement), hashes))
    return pins


def pins_for(path: Path, python: str) -> dict[str, Pin]:
    """Return the pins for a version of Python on Linux, by package."""
    environment = {**default_environment(), "python_version": python, "python_full_version": f"{python}.1"}
    pins: dict[str, Pin] = {}
    for pin in read_lock(path):
        if pin.requirement.marker is None or pin.requirement.marker.evaluate(environment):
            assert canonicalize_name(pin.requirement.name) not in pins, "two versions"
            pins[canonicalize_name(pin.requirement.name)] = pin
    return pins


def declared_dependencies(section: str) -> list[Requirement]:
    """Return the requirements in a list of pyproject.toml."""
    found = re.search(rf"^{section} = \[\n(.*?)^\]", PYPROJECT, re.MULTILINE | re.DOTALL)
    assert found is not None
    return [Requirement(text) for text in re.findall(r'^    "([^"]+)"', found[1], re.MULTILINE)]


@pytest.mark.parametrize("path", [*LOCKS, AUDIT], ids=lambda path: path.name)
def test_every_package_has_a_version_and_checksums(path: Path) -> None:
    pins = read_lock(path)
    assert pins
    for pin in pins:
        assert pin.version
        assert pin.hashes, pin.requirement.name
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest) for digest in pin.hashes)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_the_declared_dependencies_are_locked(path: Path, python: str) -> None:
    pins = pins_for(path, python)
    required = declared_dependencies("dependencies")
    if path == DEV:
        required += declared_dependencies("dev")
    for requirement in required:
        if requirement.name != "kafka-sql":  # its own extras
            assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)].version), requirement


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_the_dependencies_of_locked_packages_are_locked(path: Path) -> None:
    """Check the packages that are installed here in the locked version: all of them with make test LOCKED=1."""
    pins = pins_for(path, f"{sys.version_info.major}.{sys.version_info.minor}")
    for name, pin in pins.items():
        try:
            installed = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if installed.version != pin.version:
            continue
        for requirement in map(Requirement, installed.requires or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                locked = pins[canonicalize_name(requirement.name)]
                assert requirement.specifier.contains(locked.version, prereleases=True), (name, requirement)


def test_each_supported_pyspark_has_a_lock() -> None:
    assert [*PYSPARK_LOCKS] == [*PYSPARKS[:-1]]
    for pyspark, path in [*PYSPARK_LOCKS.items(), (PYSPARKS[-1], BASE)]:
        for python in PYTHONS:
            if (python, pyspark) not in IMPOSSIBLE:
                pins = pins_for(path, python)
                assert pins["pyspark"].version.startswith(f"{pyspark}.")
                others = {name: pin.version for name, pin in pins.items() if name != "pyspark"}
                base = {name: pin.version for name, pin in pins_for(BASE, python).items() if name != "pyspark"}
                assert others == base


def test_the_lock_for_clusters_has_everything_except_pyspark() -> None:
    assert read_lock(CLUSTER) == [pin for pin in read_lock(BASE) if pin.requirement.name not in ("pyspark", "py4j")]


def test_the_image_has_the_pyspark_of_its_lock() -> None:
    spark = re.search(r"^ARG SPARK_VERSION=(.*)$", GUIDE, re.MULTILINE)
    lock = re.search(r"--require-hashes -r /tmp/(\S+)", GUIDE)
    assert spark is not None
    assert lock is not None
    assert f"COPY {lock[1]} " in GUIDE
    assert {pin.version for pin in read_lock(ROOT / lock[1]) if pin.requirement.name == "pyspark"} == {spark[1]}


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("path", [BASE, *PYSPARK_LOCKS.values()], ids=lambda path: path.name)
def test_the_documented_installation(path: Path, tmp_path: Path) -> None:
    commands = re.findall(r"^\$ (pip install (?!--target).*--(?:require-hashes|no-deps).*)$", GUIDE, re.MULTILINE)
    assert len(commands) == 2
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "dist")]
    subprocess.run(build, cwd=ROOT, check=True)
    (tmp_path / "requirements.lock").write_bytes(path.read_bytes())
    for command in commands:
        words = command.split()
        subprocess.run([python, "-m", *words, "--disable-pip-version-check", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run([python, "-m", "pip", "check"], cwd=tmp_path, check=True)
    program = (
        "from kafka_sql.formats.protobuf_confluent.schema_descriptors import compile_schema;"
        "compile_schema('syntax = \"proto3\"; message M { int32 a = 1; }');"
        "import kafka_sql, pyspark; print(kafka_sql.__version__, pyspark.__version__)"
    )
    printed = subprocess.run([python, "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    version = pins_for(path, f"{sys.version_info.major}.{sys.version_info.minor}")["pyspark"].version
    assert printed.split() == [metadata.version("kafka-sql"), version]


def test_a_changed_checksum_is_refused(tmp_path: Path) -> None:
    """pip compares checksums only of files that it has: the smallest package, from a local folder."""
    (tmp_path / "six.lock").write_text("six==1.17.0 --hash=sha256:" + "0" * 64)
    (tmp_path / "six-1.17.0-py2.py3-none-any.whl").write_bytes(b"planted")
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--require-hashes", "--no-index"]
    command += ["--find-links", str(tmp_path), "--target", str(tmp_path / "out"), "-r", str(tmp_path / "six.lock")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
