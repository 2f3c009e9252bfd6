"""Catalog folders that other users can write to, and table names with special characters."""

from __future__ import annotations

import logging
import os
import stat
import time
from pathlib import Path

import pytest

from kafka_sql.catalog.file_store import FileCatalogStore
from kafka_sql.errors import CatalogFolderError
from kafka_sql.sql.jobs.checkpoints.checkpoint import folder_name


def test_the_folder_is_created_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = FileCatalogStore(tmp_path / "new")
        folder.write(("default", "t"), "CREATE TABLE t")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert [stat.S_IMODE(f.stat().st_mode) for f in (tmp_path / "new").iterdir()] == [0o600]


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_can_write(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(CatalogFolderError, match=r"is writable by other users.*chmod 700"):
        FileCatalogStore(tmp_path)


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755, 0o500])
def test_a_folder_that_others_can_only_read(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    assert FileCatalogStore(tmp_path).read() == {}
    tmp_path.chmod(0o700)


def test_a_folder_that_becomes_writable_for_others(tmp_path: Path) -> None:
    folder = FileCatalogStore(tmp_path / "tables")
    folder.write(("default", "t"), "CREATE TABLE t")
    assert folder.read() == {("default", "t"): "CREATE TABLE t"}
    (tmp_path / "tables").chmod(0o777)
    with pytest.raises(CatalogFolderError, match="is writable by other users"):
        folder.read()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can change a folder's owner")
def test_a_folder_of_another_user(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, -1)
    with pytest.raises(CatalogFolderError, match="is writable by other users"):
        FileCatalogStore(tmp_path)


def test_the_target_of_a_symbolic_link_is_checked(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open")
    with pytest.raises(CatalogFolderError, match="is writable by other users"):
        FileCatalogStore(tmp_path / "link")


def test_a_file_that_others_can_write_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tmp_path.chmod(0o755)
    folder = FileCatalogStore(tmp_path)
    for name in ("a", "b"):
        folder.write(("default", name), f"CREATE TABLE {name}")
    (tmp_path / "default.b.sql").chmod(0o666)
    with caplog.at_level(logging.WARNING):
        assert folder.read() == {("default", "a"): "CREATE TABLE a"}
    assert "default.b.sql is skipped" in caplog.text
    assert "it is writable by other users" in caplog.text
    tmp_path.chmod(0o700)  # in a folder that others cannot enter, the mode of a file does not matter
    assert folder.read().keys() == {("default", "a"), ("default", "b")}


def test_a_link_to_a_file_that_others_can_write_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = FileCatalogStore(tmp_path / "tables")  # which others cannot enter
    for name, mode, parent_mode in (("a", 0o644, 0o755), ("b", 0o666, 0o755), ("c", 0o644, 0o777)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table.sql").write_text(f"CREATE TABLE {name}")
        (tmp_path / name / "table.sql").chmod(mode)
        (tmp_path / name).chmod(parent_mode)
        (tmp_path / "tables" / f"default.{name}.sql").symlink_to(tmp_path / name / "table.sql")
    (tmp_path / "tables" / "default.d.sql").hardlink_to(tmp_path / "b" / "table.sql")
    with caplog.at_level(logging.WARNING):
        assert folder.read() == {("default", "a"): "CREATE TABLE a"}
    assert "default.b.sql is skipped: [Errno 1] it is writable by other users" in caplog.text
    assert f"default.c.sql is skipped: [Errno 1] it is a link into '{tmp_path}/c', which is writable by" in caplog.text
    assert "default.d.sql is skipped: [Errno 1] it is writable by other users" in caplog.text


def test_an_invalid_path() -> None:
    with pytest.raises(CatalogFolderError, match="cannot be used"):
        FileCatalogStore("a\0b")


def test_a_write_in_place_is_a_change(tmp_path: Path) -> None:
    store = FileCatalogStore(tmp_path / "tables")
    store.write(("default", "t"), "CREATE TABLE t")
    (file,) = (tmp_path / "tables").iterdir()
    os.utime(file, ns=(0, 0))  # not just now: changes within one tick of the clock are indistinguishable
    store.read()
    assert not store.has_changed()
    os.utime(file, ns=(1, 1))
    assert store.has_changed()
    store.read()
    file.write_text("CREATE TABLE u")
    assert store.has_changed()


def test_changes_within_a_tick_of_the_clock_are_read_again(tmp_path: Path) -> None:
    store = FileCatalogStore(tmp_path / "tables")
    store.write(("default", "t"), "CREATE TABLE t")
    (file,) = (tmp_path / "tables").iterdir()
    now = time.time_ns() + 10**9  # however long the test waits before it reads
    os.utime(file, ns=(now, now))
    store.read()
    assert store.has_changed()


def test_an_unreadable_folder_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = FileCatalogStore(tmp_path / "tables")
    (tmp_path / "tables").rmdir()
    with caplog.at_level(logging.WARNING):
        assert not store.has_changed()
        assert not store.has_changed()
    assert caplog.text.count("cannot be read: No such file or directory. Its tables stay unchanged.") == 1
    with pytest.raises(CatalogFolderError, match="cannot be read: No such file"):
        store.read()
    (tmp_path / "tables").mkdir()
    assert store.has_changed()
    (tmp_path / "tables").rmdir()
    store.has_changed()
    assert caplog.text.count("cannot be read: No such file") == 2


def test_a_writer_that_crashed_leaves_nothing(tmp_path: Path) -> None:
    store = FileCatalogStore(tmp_path / "tables")
    before = os.umask(0)
    try:
        (tmp_path / "tables" / ".1.tmp").write_text("half a statement")
        with store.lock():
            (lock,) = (tmp_path / "tables").iterdir()
            assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    finally:
        os.umask(before)
    assert store.read() == {}


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    store = FileCatalogStore(tmp_path / "tables")
    (tmp_path / "tables").rmdir()
    with pytest.raises(CatalogFolderError, match="cannot be written"), store.lock():
        pass
    with pytest.raises(CatalogFolderError, match=r"table 'default\.t' cannot be written: No such file") as raised:
        store.write(("default", "t"), "CREATE TABLE t")
    assert (raised.value.folder, raised.value.table) == (str(tmp_path / "tables"), "default.t")


SPECIAL = ("../../etc/x", "..", ".", "a/b", "a\\b", "a.b", "%2e%2e", "-rf", "~", "$(x)", "a\nb", "é😀", " ", "*", "a%b")


@pytest.mark.parametrize("name", SPECIAL)
def test_any_table_name_is_one_file_in_the_folder(tmp_path: Path, name: str) -> None:
    folder = FileCatalogStore(tmp_path / "tables")
    for key in (("default", name), (name, "t")):
        folder.write(key, "CREATE TABLE x")
        assert folder.read() == {tuple(part.lower() for part in key): "CREATE TABLE x"}
        (file,) = (tmp_path / "tables").iterdir()
        assert file.parent == tmp_path / "tables"
        assert list(tmp_path.iterdir()) == [tmp_path / "tables"]
        folder.remove(key)
        assert folder.read() == {}


@pytest.mark.parametrize("name", [*SPECIAL, "a\0b"])
def test_any_table_name_is_one_component_of_a_checkpoint_path(name: str) -> None:
    component = folder_name(name)
    assert component == Path(component).name or component in ("~", " ")
    assert component not in ("", ".", "..")
    assert "\0" not in component


def test_ordinary_checkpoint_names_stay_unchanged() -> None:
    for name in ("default.tgt", "a b", "é😀", "a.b.c", "x-1_2"):
        assert folder_name(name) == name
