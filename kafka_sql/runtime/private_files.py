"""Check that other users cannot read or change files and folders.

A user who can change cached code can run code.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def is_writable_by_others(status: os.stat_result) -> bool:
    """Return whether a user other than this one and root can write a file or folder, by its mode or as its owner."""
    return bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) or status.st_uid not in (os.getuid(), 0)


def is_accessible_by_others(status: os.stat_result) -> bool:
    """Return whether a user other than this one and root can read or write a file or folder."""
    return is_writable_by_others(status) or bool(status.st_mode & (stat.S_IRGRP | stat.S_IROTH))


def create_private_folder(folder: Path) -> None:
    """Create a folder for this user, or check that only this user can write to an existing one.

    Raises:
        PermissionError: other users can write to it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if is_writable_by_others(folder.stat()):
        raise PermissionError(
            "other users can write to it, and could replace its files with their own code (restrict it to its owner: "
            f"chmod 700 '{folder}')"
        )


def create_user_folder(parent: str) -> str | None:
    """Create a folder that only this user can access in a shared one, and return it; None if that is impossible."""
    folder = os.path.join(parent, f"kafka_sql-{os.getuid()}")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        status = os.lstat(folder)
    except OSError:
        return None
    is_private = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    return folder if is_private else None
