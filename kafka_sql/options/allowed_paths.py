"""The folders of which options may name files, where the environment of the process says so.

The variable is the operator's, and not the statement's author's: as Kafka's ``allowed.paths`` of its file and directory
config providers (KIP-993) it keeps a statement from sending the content of other files elsewhere.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

VARIABLE: Final = "KAFKA_SQL_ALLOWED_PATHS"


class PathNotAllowedError(OSError):
    """A file that lies outside of the allowed folders."""

    def __init__(self) -> None:
        super().__init__()
        self.strerror = f"it is not in the folders that {VARIABLE} allows"


def resolve_allowed(path: str | os.PathLike[str]) -> Path:
    """The file of an option, with links and ``..`` resolved where only some folders are allowed.

    Args:
        path: may begin with ``~``.

    Raises:
        OutsideError: it lies outside of them. Whether it is there is not told.
        FileNotFoundError: no file can have the name.
    """
    name = os.fspath(path)
    if "\0" in name or any("\ud800" <= character <= "\udc7f" for character in name):  # others stand for odd bytes
        raise FileNotFoundError(2, "its name has a character that no file's name has")
    named = Path(os.path.expanduser(name))
    folders = os.environ.get(VARIABLE)
    if folders is None:
        return named
    real = Path(os.path.realpath(named))
    if not any(real.is_relative_to(os.path.realpath(folder)) for folder in folders.split(os.pathsep) if folder):
        raise PathNotAllowedError
    return real


def read_allowed(path: str | os.PathLike[str]) -> bytes:
    """The content of an option's file.

    Raises:
        OSError: it cannot be read, is none that ends (a device, a pipe), or lies outside of the allowed folders.
    """
    file = resolve_allowed(path)
    mode = file.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(22, "it is no regular file")
    return file.read_bytes()


def file_state(path: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    """Which content an option's file has, without reading it: another state is another content.

    None where it cannot be told, which who reads the file will say.
    """
    try:
        found = os.stat(os.path.expanduser(path))
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
