"""Open the files that options name, if the allow list of folders contains them.

Like ``allowed.paths`` of Kafka's file and directory config providers (KIP-993), the list keeps statements from sending
the content of other files elsewhere.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kafka_sql.options.allow_lists import PATHS, allowed_entries


class PathNotAllowedError(OSError):
    """A file that is not in an allowed folder."""

    def __init__(self) -> None:
        super().__init__()
        self.strerror = f"not in the folders that {PATHS} allows"


def resolve_allowed(path: str | os.PathLike[str]) -> Path:
    """Return the path of an option's file. If folders are restricted, links and ``..`` are resolved.

    Args:
        path: may start with ``~``.

    Raises:
        PathNotAllowedError: the path is not in an allowed folder, whether or not the file exists.
        FileNotFoundError: the name is not a valid file name.
    """
    name = os.fspath(path)
    if "\0" in name or any("\ud800" <= character <= "\udc7f" for character in name):  # other surrogates escape bytes
        raise FileNotFoundError(2, "the name has an invalid character")
    expanded = Path(os.path.expanduser(name))
    folders = allowed_entries(PATHS)
    if folders is None:
        return expanded
    real = Path(os.path.realpath(expanded))
    if not any(real.is_relative_to(os.path.realpath(folder)) for folder in folders):
        raise PathNotAllowedError
    return real


def read_allowed(path: str | os.PathLike[str]) -> bytes:
    """Return the content of an option's file.

    Raises:
        OSError: the file cannot be read, is not a regular file (a device, a pipe), or is not in an allowed folder.
    """
    file = resolve_allowed(path)
    mode = file.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(22, "not a regular file")
    return file.read_bytes()


def file_state(path: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    """Return a fingerprint of an option's file (inode, size, modification time) that changes with the content.

    Returns:
        None if the file is inaccessible. Reading it raises the error.
    """
    try:
        status = os.stat(os.path.expanduser(path))
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
