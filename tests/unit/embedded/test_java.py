"""Test how Java is found, and its version checked."""

import os
from pathlib import Path

import pytest

from kafka_sql.embedded.java import find_java, major_version
from kafka_sql.errors import EmbeddedKafkaError

JAVA_17 = 'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6)\n'


def stub(folder: Path, version: str, status: int = 0) -> Path:
    """Create an executable ``java`` that prints this version to stderr, as Java does."""
    java = folder / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(f"#!/bin/sh\necho '{version}' >&2\nexit {status}\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (JAVA_17, 17),
        ("Picked up JAVA_TOOL_OPTIONS: -Dfile.version=8\n" + JAVA_17, 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "26-ea" 2026-03-17', 26),
        ('openjdk version "9"', 9),
        ("Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_major_version(text: str, expected: int | None) -> None:
    assert major_version(text) == expected


def test_the_first_java_on_path(tmp_path: Path) -> None:
    first, second = stub(tmp_path / "1", JAVA_17), stub(tmp_path / "2", JAVA_17)
    assert find_java({"PATH": f"{first.parent}{os.pathsep}{second.parent}"}) == str(first)


def test_java_home_takes_precedence(tmp_path: Path) -> None:
    home = stub(tmp_path / "home/bin", JAVA_17)
    on_path = stub(tmp_path / "path", JAVA_17)
    assert find_java({"PATH": str(on_path.parent), "JAVA_HOME": str(tmp_path / "home")}) == str(home)


def test_no_java(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedKafkaError, match=r"not found on PATH, and JAVA_HOME is not set. Install Java 17"):
        find_java({"PATH": str(tmp_path)})


def test_wrong_java_home(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedKafkaError, match=r"java \(from JAVA_HOME\): No such file.*Install Java 17"):
        find_java({"PATH": str(stub(tmp_path, JAVA_17).parent), "JAVA_HOME": str(tmp_path / "none")})


def test_too_old(tmp_path: Path) -> None:
    java = stub(tmp_path, 'openjdk version "11.0.2"')
    with pytest.raises(EmbeddedKafkaError, match=f"Java 11 is too old: {java}. Install Java 17"):
        find_java({"PATH": str(tmp_path)})


@pytest.mark.parametrize(("output", "status"), [("Unable to locate a Java Runtime.", 1), ("hello", 0)])
def test_an_executable_that_is_not_java(tmp_path: Path, output: str, status: int) -> None:
    stub(tmp_path, output, status)
    with pytest.raises(EmbeddedKafkaError, match=r"Java does not run: .*java -version failed. Install Java 17"):
        find_java({"PATH": str(tmp_path)})
