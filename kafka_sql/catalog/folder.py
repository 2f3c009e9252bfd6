"""A folder that keeps tables: one readable ``.sql`` file a table.

Files are written beside and renamed, under a lock, so that a reader sees the old statement or the new one, and two
writers take turns. The statements hold the options as typed, so nobody else may read or change them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from kafka_sql.errors import CatalogFolderError

Name = tuple[str, str]  # database, table

_ENDING = ".sql"
_LOCK = ".lock"
_SETTLED_NS = 50_000_000  # a change within the clock's tick of the last one may leave the folder's time as it was


class Folder:
    """The statements of a folder by table.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Make the folder, if it is not there, for its owner alone.

        Raises:
            CatalogFolderError: it cannot be had, or others can write into it.
        """
        self.path = Path(path).absolute()
        self._seen = -1
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.path.stat()
        except OSError as e:
            raise CatalogFolderError(f"Catalog folder '{self.path}' cannot be used: {e.strerror}.") from e
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or found.st_uid not in (os.getuid(), 0):
            raise CatalogFolderError(
                f"Catalog folder '{self.path}' can be written by others, who could point your tables at servers of "
                f"theirs. Make it yours alone: chmod 700 '{self.path}'."
            )

    def changed(self) -> bool:
        """Whether the folder may have changed since it was last read: one stat."""
        return self._stamp() != self._seen

    def read(self) -> dict[Name, str]:
        """All statements."""
        stamp = self._stamp()
        self._seen = stamp if time.time_ns() - stamp > _SETTLED_NS else -1
        statements = {}
        for file in sorted(self.path.glob("[!.]*.*" + _ENDING)):
            database, table = file.name.removesuffix(_ENDING).split(".", 1)
            with contextlib.suppress(FileNotFoundError):  # dropped by another session just now
                statements[unquote(database), unquote(table)] = file.read_text(encoding="utf-8")
        return statements

    def write(self, name: Name, statement: str) -> None:
        """Put a table's statement, in the lock.

        Raises:
            CatalogFolderError: the file cannot be written.
        """
        try:
            self._replace(name, statement)
        except OSError as e:
            raise CatalogFolderError(
                f"Catalog folder '{self.path}': table '{'.'.join(name)}' cannot be kept: {e.strerror}."
            ) from e

    def _replace(self, name: Name, statement: str) -> None:
        temporary = self.path / f".{os.getpid()}.tmp"
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(statement)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._file(name))
        self._sync()

    def remove(self, name: Name) -> None:
        """Drop a table's statement, in the lock."""
        self._file(name).unlink(missing_ok=True)
        self._sync()

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only writer, in all processes. What a writer that died left half-way is removed."""
        with open(os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for half_way in self.path.glob(".*.tmp"):
                half_way.unlink()
            yield

    def _file(self, name: Name) -> Path:
        return self.path / (".".join(quote(part, safe=" ").replace(".", "%2E") for part in name) + _ENDING)

    def _stamp(self) -> int:
        return self.path.stat().st_mtime_ns

    def _sync(self) -> None:
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)  # the rename itself
        finally:
            os.close(folder)
