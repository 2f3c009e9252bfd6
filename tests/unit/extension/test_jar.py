"""The jar for Spark's shells is used only from a folder, and as a file, that other users cannot write."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_sql.errors import ExtensionError
from kafka_sql.extension import jar
from kafka_sql.extension.jar import build_jar


@pytest.fixture(autouse=True)
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jars without classes, because compiling takes seconds."""
    monkeypatch.setattr(jar, "_compile", lambda sources, work: work)


@pytest.mark.usefixtures("group_umask")
def test_the_jar_is_built_once_for_its_owner_only(tmp_path: Path) -> None:
    path = build_jar(tmp_path / "jars")
    assert [p.stat().st_mode & 0o777 for p in (path.parent, path)] == [0o700, 0o600]
    modified = path.stat().st_mtime_ns
    assert build_jar(tmp_path / "jars") == path
    assert path.stat().st_mtime_ns == modified


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_a_jar_in_a_folder_that_other_users_can_write(tmp_path: Path, mode: int) -> None:
    path = build_jar(tmp_path)
    tmp_path.chmod(mode)
    with pytest.raises(ExtensionError, match=r"other users can write to it.*chmod 700"):
        build_jar(tmp_path)
    path.unlink()
    with pytest.raises(ExtensionError, match="other users can write to it"):
        build_jar(tmp_path)
    tmp_path.chmod(0o755)


def test_a_jar_that_other_users_can_write(tmp_path: Path) -> None:
    path = build_jar(tmp_path)
    path.chmod(0o666)
    with pytest.raises(ExtensionError, match=r"other users can write the existing 'kafka-sql-extension-.*delete it"):
        build_jar(tmp_path)
    path.rename(tmp_path / "other")
    path.symlink_to(tmp_path / "other")
    with pytest.raises(ExtensionError, match="other users can write the existing"):
        build_jar(tmp_path)
