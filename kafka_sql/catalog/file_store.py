"""A folder that keeps tables: one readable ``.sql`` file a table.

Files are written beside and renamed, under a lock, so that a reader sees the old statement or the new one, and two
writers take turns. The statements hold the options as typed, so nobody else may read or change them.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from kafka_sql.errors import CatalogFolderError

Name = tuple[str, str]  # database, table

_LOG = logging.getLogger("kafka_sql.catalog")
_ENDING = ".sql"
_LOCK = ".lock"
_SETTLED_NS = 50_000_000  # a change within the clock's tick of the last one may leave a file's time as it was


class FileCatalogStore:
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
        self._seen: object = None
        self._gone = False
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check()
        except (OSError, ValueError) as e:  # a NUL in its name
            why = e.strerror if isinstance(e, OSError) else str(e)
            raise CatalogFolderError(f"Catalog folder {str(self.path)!r} cannot be used: {why}.") from e

    def has_changed(self) -> bool:
        """Whether a file may have changed since the last reading. A folder that is gone has not: it may come back."""
        try:
            stamp = self._stamp()
        except OSError as e:
            if not self._gone:
                _LOG.warning(
                    "Catalog folder '%s' cannot be read: %s. Its tables stay as they are.", self.path, e.strerror
                )
            self._gone = True
            return False
        self._gone = False
        return stamp != self._seen

    def read(self) -> dict[Name, str]:
        """All statements; a file that cannot be read is left out with a warning.

        Raises:
            CatalogFolderError: the folder cannot be read, or others can write into it by now.
        """
        try:
            self._check()
            stamp = self._stamp()
        except OSError as e:
            raise CatalogFolderError(f"Catalog folder '{self.path}' cannot be read: {e.strerror}.") from e
        statements = {}
        for file in sorted(self.path.glob("[!.]*.*" + _ENDING)):
            database, table = file.name.removesuffix(_ENDING).split(".", 1)
            try:
                statements[unquote(database).lower(), unquote(table).lower()] = _text(file)
            except FileNotFoundError:  # dropped by another session just now
                continue
            except (OSError, UnicodeDecodeError) as e:
                _LOG.warning("Catalog folder '%s': %s is left out: %s", self.path, file.name, e)
        newest = max((time for _, time, _ in stamp), default=0)
        self._seen = stamp if time.time_ns() - newest > _SETTLED_NS else None
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
        """Be the only writer, in all processes. What a writer that died left half-way is removed.

        Raises:
            CatalogFolderError: the folder cannot be written.
        """
        try:
            descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as e:
            raise CatalogFolderError(f"Catalog folder '{self.path}' cannot be written: {e.strerror}.") from e
        with open(descriptor) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for half_way in self.path.glob(".*.tmp"):
                half_way.unlink()
            yield

    def _check(self) -> None:
        if _others_write(self.path.stat()):
            raise CatalogFolderError(
                f"Catalog folder '{self.path}' can be written by others, who could point your tables at servers of "
                f"theirs. Make it yours alone: chmod 700 '{self.path}'."
            )

    def _file(self, name: Name) -> Path:
        return self.path / (".".join(quote(part, safe=" ").replace(".", "%2E") for part in name) + _ENDING)

    def _stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Names, times and sizes of the files: who writes in place does not change the folder's own time."""
        found = []
        with os.scandir(self.path) as files:
            for file in files:
                if file.name.endswith(_ENDING):
                    with contextlib.suppress(FileNotFoundError):  # dropped just now
                        found.append((file.name, file.stat().st_mtime_ns, file.stat().st_size))
        return tuple(sorted(found))

    def _sync(self) -> None:
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)  # the rename itself
        finally:
            os.close(folder)


def _text(file: Path) -> str:
    """A file's text.

    Raises:
        PermissionError: others can reach and write it: its owner, or whom its mode lets.
    """
    reached = file.parent.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH)
    with open(file, encoding="utf-8") as opened:
        if reached and _others_write(os.fstat(opened.fileno())):
            raise PermissionError(1, "others can write it (chmod 600 makes it yours alone)")
        return opened.read()


def _others_write(found: os.stat_result) -> bool:
    return bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) or found.st_uid not in (os.getuid(), 0)
