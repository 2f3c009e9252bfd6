"""Test where the class data archive is, when ``kafka-sql`` uses it, and the command's arguments and errors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_sql.cli import class_archive
from kafka_sql.cli.class_archive import VARIABLE, use_archive


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment with a Java, a Spark, and an empty cache."""
    for folder in ("java/bin", "spark/jars", "cache"):
        Path(tmp_path, folder).mkdir(parents=True)
    Path(tmp_path, "java/bin/java").touch()
    monkeypatch.setenv("SPARK_HOME", f"{tmp_path}/spark")
    monkeypatch.setenv("JAVA_HOME", f"{tmp_path}/java")
    monkeypatch.setenv("KAFKA_SQL_CACHE", f"{tmp_path}/cache")
    return {"JAVA_HOME": f"{tmp_path}/java"}


@pytest.fixture
def archive(environ: dict[str, str]) -> Path:
    path = class_archive._archive_path(f"{environ['JAVA_HOME']}/bin/java")
    path.touch(0o600)
    return path


def test_a_missing_archive_is_not_used(environ: dict[str, str]) -> None:
    before = dict(environ)
    use_archive(environ)
    assert environ == before


def test_options_are_added_to_those_of_the_environment(environ: dict[str, str], archive: Path) -> None:
    environ[VARIABLE] = "-Xmx1g"
    use_archive(environ)
    assert environ[VARIABLE] == f"-XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off -Xmx1g"


@pytest.mark.usefixtures("group_umask")
def test_a_new_archive_is_used(environ: dict[str, str], archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.unlink()
    archive.parent.chmod(0o700)
    monkeypatch.setattr(class_archive, "write_archive", lambda path, *_: path.write_text("classes"))
    class_archive._create(archive)
    use_archive(environ)
    assert str(archive) in environ[VARIABLE]


def test_another_archive_of_the_environment_is_kept(environ: dict[str, str], archive: Path) -> None:
    environ[VARIABLE] = "-XX:SharedArchiveFile=mine.jsa"
    use_archive(environ)
    assert environ[VARIABLE] == "-XX:SharedArchiveFile=mine.jsa"


@pytest.mark.parametrize("changed", ["archive", "folder"])
def test_an_archive_that_others_can_replace_is_not_used(changed: str, environ: dict[str, str], archive: Path) -> None:
    (archive if changed == "archive" else archive.parent).chmod(0o777)
    use_archive(environ)
    assert VARIABLE not in environ


@pytest.mark.parametrize("changed", ["java/bin/java", "spark/jars"])
def test_other_versions_have_another_archive(
    changed: str, environ: dict[str, str], archive: Path, tmp_path: Path
) -> None:
    os.utime(tmp_path / changed, (1, 1))
    use_archive(environ)
    assert VARIABLE not in environ


def test_a_missing_java_is_left_to_spark(environ: dict[str, str], archive: Path, tmp_path: Path) -> None:
    environ["JAVA_HOME"] = f"{tmp_path}/none"
    use_archive(environ)
    assert VARIABLE not in environ


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert class_archive.run(["--help"]) == 0
    assert capsys.readouterr().out.startswith('usage: export SPARK_SUBMIT_OPTS="$(kafka-sql class-archive)"\n')
    assert class_archive.run(["now"]) == 2
    assert capsys.readouterr().err == "kafka-sql: class-archive has no arguments. See kafka-sql class-archive --help.\n"


def test_java_that_does_not_run(environ: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert class_archive.run([]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("Java does not run: ")


def test_a_folder_that_others_can_write_to(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(class_archive, "find_java", lambda: f"{tmp_path}/java/bin/java")
    (tmp_path / "cache").chmod(0o777)
    assert class_archive.run([]) == 1
    folder = f"The class data archive cannot be stored in {tmp_path}/cache: "
    assert capsys.readouterr().err.startswith(f"{folder}other users can write to it")


def test_the_wait_is_announced(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.touch()
    monkeypatch.setattr(class_archive, "find_java", lambda: str(java))
    announced: list[str] = []

    def create(archive: Path) -> None:
        announced.append(capsys.readouterr().err)
        archive.touch()

    monkeypatch.setattr(class_archive, "_create", create)
    assert class_archive.run([]) == 0
    assert len(announced) == 1
    assert announced[0].startswith(f"Storing the classes in {tmp_path}/cache/spark-classes-")
    assert class_archive.run([]) == 0  # it exists: there is nothing to wait for
    assert capsys.readouterr().err == ""
    assert len(announced) == 1
