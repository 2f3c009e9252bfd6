"""Test the cache of jars and of the registry, with a stub of ``java`` that creates the files Ivy would download."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_sql.embedded import ivy, registry
from kafka_sql.embedded.jars import LOCKFILE, cache_folder, find_differences, ivy_module, kafka_jars, read_lockfile
from kafka_sql.errors import EmbeddedKafkaError

LOCK_TEXT = "# two\n" + "".join(
    f"org.x:{name}:1.0 {hashlib.sha256(name.encode()).hexdigest()}\n" for name in ("one", "two")
)
DOWNLOAD = "printf one > jars/one-1.0.jar; printf two > jars/two-1.0.jar"


class Machine:
    """An empty cache, a lockfile with two jars, and a java stub that counts its runs."""

    def __init__(self, folder: Path) -> None:
        self.cache, self.lockfile, self.runs, self.java = (folder / name for name in ("c", "a.lock", "runs", "java"))
        self.lockfile.write_text(LOCK_TEXT)

    def java_stub(self, script: str) -> str:
        """Write a ``java`` that runs a script instead of Ivy, and return its path."""
        self.java.write_text(f'#!/bin/sh\necho "$*" >> {self.runs}\nmkdir -p jars\n{script}\n')
        self.java.chmod(0o755)
        return str(self.java)

    def run_count(self) -> int:
        return len(self.runs.read_text().splitlines())

    def cached_folders(self) -> list[str]:
        return [path.name for path in self.cache.iterdir() if not path.name.endswith(".busy")]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path)
    monkeypatch.setenv("KAFKA_SQL_CACHE", str(machine.cache))
    monkeypatch.delenv("KAFKA_SQL_IVY_SETTINGS", raising=False)
    return machine


def test_the_lockfile_pins_all_jars() -> None:
    jars = read_lockfile(LOCKFILE)
    assert len(jars) == 46
    assert len({jar.file for jar in jars}) == 46
    assert all(re.fullmatch("[0-9a-f]{64}", jar.sha256) for jar in jars)
    assert {jar.revision for jar in jars if jar.group == "org.apache.kafka"} == {"4.3.1"}


def test_ivy_module_has_only_the_locked_jars(machine: Machine) -> None:
    module = ivy_module(read_lockfile(machine.lockfile))
    assert re.findall("<dependency .*", module) == [
        '<dependency org="org.x" name="one" rev="1.0" transitive="false"/>',
        '<dependency org="org.x" name="two" rev="1.0" transitive="false"/>',
    ]


def test_downloaded_once(machine: Machine) -> None:
    java = machine.java_stub(DOWNLOAD)
    first = kafka_jars(java, machine.lockfile)
    assert [(path.name, path.read_text()) for path in first] == [("one-1.0.jar", "one"), ("two-1.0.jar", "two")]
    assert kafka_jars(java, machine.lockfile) == first
    assert machine.run_count() == 1
    assert machine.cached_folders() == [first[0].parent.name]


def test_another_lockfile_uses_another_folder(machine: Machine) -> None:
    java = machine.java_stub(DOWNLOAD)
    first = kafka_jars(java, machine.lockfile)
    machine.lockfile.write_text(LOCK_TEXT + "# changed\n")
    assert kafka_jars(java, machine.lockfile)[0].parent != first[0].parent


def test_an_incomplete_folder_is_downloaded_again(machine: Machine) -> None:
    java = machine.java_stub(DOWNLOAD)
    kafka_jars(java, machine.lockfile)[1].unlink()
    assert all(path.exists() for path in kafka_jars(java, machine.lockfile))
    assert machine.run_count() == 2


def test_a_changed_jar_is_downloaded_again(machine: Machine) -> None:
    """The checksums are verified when the jars are used, not only when they are downloaded."""
    java = machine.java_stub(DOWNLOAD)
    kafka_jars(java, machine.lockfile)[1].write_text("planted")
    assert [path.read_text() for path in kafka_jars(java, machine.lockfile)] == ["one", "two"]
    assert machine.run_count() == 2


def test_a_jar_beside_the_locked_ones_is_removed(machine: Machine) -> None:
    java = machine.java_stub(DOWNLOAD)
    folder = kafka_jars(java, machine.lockfile)[0].parent
    (folder / "planted.jar").touch()
    assert sorted(kafka_jars(java, machine.lockfile)) == sorted(folder.iterdir())


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o702])
def test_a_cache_that_other_users_can_write_is_refused(machine: Machine, mode: int) -> None:
    java = machine.java_stub(DOWNLOAD)
    kafka_jars(java, machine.lockfile)
    machine.cache.chmod(mode)
    with pytest.raises(EmbeddedKafkaError, match=r"other users can write to it.*chmod 700 '.*KAFKA_SQL_CACHE"):
        kafka_jars(java, machine.lockfile)
    assert machine.run_count() == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root can change a folder's owner")
def test_a_cache_of_another_user_is_refused(machine: Machine) -> None:
    machine.cache.mkdir(mode=0o755)
    os.chown(machine.cache, 12345, -1)
    with pytest.raises(EmbeddedKafkaError, match="other users can write to it"):
        kafka_jars(machine.java_stub(DOWNLOAD), machine.lockfile)


def test_the_cache_is_created_for_its_owner_only(machine: Machine) -> None:
    original_umask = os.umask(0)
    try:
        folder = kafka_jars(machine.java_stub(DOWNLOAD), machine.lockfile)[0].parent
    finally:
        os.umask(original_umask)
    assert machine.cache.stat().st_mode & 0o777 == 0o700
    assert folder.is_dir()


def test_the_unpacked_registry_is_verified(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.jar").write_text("a")
    checksum = registry._checksum(tmp_path)
    assert checksum == registry._checksum(tmp_path)
    (tmp_path / "lib" / "a.jar").write_text("b")
    assert checksum != registry._checksum(tmp_path)
    (tmp_path / "lib" / "a.jar").write_text("a")
    (tmp_path / "lib" / "b.jar").touch()
    assert checksum != registry._checksum(tmp_path)
    assert registry._checksum(tmp_path / "missing") != checksum


def test_a_changed_registry_is_downloaded_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    downloads = list[Path]()

    def download(_: str, partial: Path) -> Path:
        downloads.append(partial)
        (partial / "app").mkdir()
        (partial / "app/app.jar").write_text("app")
        return partial / "app"

    app = download("", machine.cache.parent)
    monkeypatch.setattr(registry, "_UNPACKED_SHA256", registry._checksum(app))
    monkeypatch.setattr(registry, "_download", download)
    folder = registry._unpacked_app("java")
    assert registry._unpacked_app("java") == folder
    assert downloads[1:] == [Path(f"{folder}.partial")]
    (folder / "app.jar").write_text("planted")
    registry._unpacked_app("java")
    assert downloads[1:] == [Path(f"{folder}.partial")] * 2
    machine.cache.chmod(0o777)
    with pytest.raises(EmbeddedKafkaError, match="other users can write to it"):
        registry._unpacked_app("java")


def test_a_failed_download_is_repeated(machine: Machine) -> None:
    with pytest.raises(EmbeddedKafkaError, match="could not be downloaded: Host x not found"):
        kafka_jars(machine.java_stub("printf one > jars/one-1.0.jar; echo Host x not found; exit 1"), machine.lockfile)
    assert [path.read_text() for path in kafka_jars(machine.java_stub(DOWNLOAD), machine.lockfile)] == ["one", "two"]


def test_a_download_that_does_not_end(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ivy, "_MAX_SECONDS", 0.3)
    with pytest.raises(EmbeddedKafkaError, match=r"could not be downloaded: it took more than 0\.3 s\. The first"):
        kafka_jars(machine.java_stub("exec sleep 60"), machine.lockfile)


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("printf one > jars/one-1.0.jar", "two-1.0.jar is missing"),
        (f"{DOWNLOAD}; printf tw > jars/two-1.0.jar", r"two-1.0.jar does not match the SHA-256"),
        (f"{DOWNLOAD}; printf x > jars/x.jar", "x.jar is not in the lockfile"),
    ],
)
def test_files_that_differ_from_the_lockfile_are_discarded(machine: Machine, script: str, error: str) -> None:
    with pytest.raises(EmbeddedKafkaError, match=error):
        kafka_jars(machine.java_stub(script), machine.lockfile)
    assert machine.cached_folders() == []


@pytest.mark.large
def test_concurrent_processes_download_once(machine: Machine) -> None:
    java = machine.java_stub(f"sleep 0.5; {DOWNLOAD}")
    program = (
        "import sys; from pathlib import Path; from kafka_sql.embedded.jars import kafka_jars;"
        "print(*(path.read_text() for path in kafka_jars(sys.argv[1], Path(sys.argv[2]))))"
    )
    command = [sys.executable, "-c", program, java, str(machine.lockfile)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in processes] == ["one two\n", "one two\n"]
    assert machine.run_count() == 1


def test_a_cache_that_is_not_writable(machine: Machine) -> None:
    machine.cache.write_text("a file is in the way")
    with pytest.raises(EmbeddedKafkaError, match=r"cannot be stored in .*KAFKA_SQL_CACHE"):
        kafka_jars(machine.java_stub(DOWNLOAD), machine.lockfile)


def test_custom_ivy_settings_are_used(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror.xml"
    mirror.write_text("<ivysettings/>")
    monkeypatch.setenv("KAFKA_SQL_IVY_SETTINGS", str(mirror))
    kafka_jars(machine.java_stub(DOWNLOAD), machine.lockfile)
    assert f"-settings {mirror} " in machine.runs.read_text()


def test_missing_ivy_settings(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_SQL_IVY_SETTINGS", "/none.xml")
    with pytest.raises(EmbeddedKafkaError, match=r"KAFKA_SQL_IVY_SETTINGS = /none\.xml is not a file"):
        kafka_jars(machine.java_stub(DOWNLOAD), machine.lockfile)


def test_a_missing_folder_lacks_all_jars(tmp_path: Path, machine: Machine) -> None:
    errors = find_differences(tmp_path / "none", read_lockfile(machine.lockfile))
    assert errors == ["one-1.0.jar is missing", "two-1.0.jar is missing"]


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"KAFKA_SQL_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "linux", Path("/a")),
        ({"XDG_CACHE_HOME": "/b"}, "linux", Path("/b/kafka_sql")),
        ({"XDG_CACHE_HOME": ""}, "linux", Path.home() / ".cache/kafka_sql"),
        ({}, "darwin", Path.home() / "Library/Caches/kafka_sql"),
    ],
)
def test_cache_folder(environ: dict[str, str], platform: str, expected: Path) -> None:
    assert cache_folder(environ, platform) == expected
