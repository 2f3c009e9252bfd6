"""Folders that only this user can write."""

from __future__ import annotations

import os
from pathlib import Path

from kafka_sql.runtime.private_files import create_user_folder


def test_a_private_folder_is_created_once(tmp_path: Path) -> None:
    folder = create_user_folder(str(tmp_path))
    assert folder is not None
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert create_user_folder(str(tmp_path)) == folder


def test_a_folder_that_other_users_can_write_is_rejected(tmp_path: Path) -> None:
    folder = create_user_folder(str(tmp_path))
    assert folder is not None
    os.chmod(folder, 0o770)
    assert create_user_folder(str(tmp_path)) is None


def test_a_symbolic_link_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir(0o700)
    (tmp_path / f"kafka_sql-{os.getuid()}").symlink_to(tmp_path / "target")
    assert create_user_folder(str(tmp_path)) is None


def test_none_if_no_folder_can_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert create_user_folder(str(tmp_path / "file")) is None
