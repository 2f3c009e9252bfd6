"""Test which files and folders other users can access, and the folders that only this user can write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_sql.runtime.private_files import (
    create_private_folder,
    create_user_folder,
    is_accessible_by_others,
    is_writable_by_others,
)


def status(mode: int, owner: int) -> os.stat_result:
    return os.stat_result((0o100000 | mode, 0, 0, 1, owner, 0, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("mode", "is_accessible", "is_writable"),
    [
        (0o600, False, False),
        (0o700, False, False),
        (0o711, False, False),
        (0o640, True, False),
        (0o604, True, False),
        (0o620, True, True),
        (0o602, True, True),
    ],
)
def test_permissions_of_group_and_others(mode: int, is_accessible: bool, is_writable: bool) -> None:
    own = status(mode, os.getuid())
    assert (is_accessible_by_others(own), is_writable_by_others(own)) == (is_accessible, is_writable)


def test_the_owner_can_write_a_file() -> None:
    assert not is_writable_by_others(status(0o600, 0))  # root
    other = status(0o600, os.getuid() + 1)
    assert is_writable_by_others(other)
    assert is_accessible_by_others(other)


def test_an_existing_folder_must_be_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    create_private_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    create_private_folder(folder)
    folder.chmod(0o770)
    with pytest.raises(PermissionError, match=rf"chmod 700 '{folder}'"):
        create_private_folder(folder)


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
