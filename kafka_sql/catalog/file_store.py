"""Persist tables in a folder, one readable ``.sql`` file per table.

Files are written to a temporary name and renamed, under a lock: a reader sees the old statement or the new one, and
writers take turns. Statements contain the options as written, including secrets, so only the owner may access them.
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
from kafka_sql.runtime.private_files import is_writable_by_others

TableName = tuple[str, str]  # database, table, in lower case; the database of a temporary table is empty

_LOG = logging.getLogger("kafka_sql.catalog")
_SUFFIX = ".sql"
_LOCK = ".lock"
_CLOCK_TICK_NS = 50_000_000  # two changes within one tick of the file system's clock have the same time


class FileCatalogStore:
    """The CREATE TABLE statements in a folder, by table. What cannot be read or written raises a CatalogFolderError."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Create the folder if it is missing, accessible to its owner only. Others must not be able to write to it."""
        self.path = Path(path).absolute()
        self.statements: dict[TableName, str] = {}  # as last read or written
        self._last_stamps: object = None
        self._is_unreadable = False
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_permissions()
        except (OSError, ValueError) as e:  # ValueError: a NUL in the path
            reason = e.strerror if isinstance(e, OSError) else str(e)
            raise CatalogFolderError(
                f"Catalog folder {str(self.path)!r} cannot be used: {reason}.", folder=str(self.path)
            ) from e

    def has_changed(self) -> bool:
        """Return whether a file may have changed since ``read``. A folder that cannot be read counts as unchanged."""
        try:
            stamps = self._file_stamps()
        except OSError as e:
            if not self._is_unreadable:
                _LOG.warning(
                    "Catalog folder '%s' cannot be read: %s. Its tables stay unchanged.", self.path, e.strerror
                )
            self._is_unreadable = True
            return False
        self._is_unreadable = False
        return stamps != self._last_stamps

    def read(self) -> dict[TableName, str]:
        """Return all statements; a file that cannot be read is skipped with a warning.

        Raises:
            CatalogFolderError: the folder cannot be read, or other users can write to it now.
        """
        try:
            self._check_permissions()
            stamps = self._file_stamps()
        except OSError as e:
            raise self._error(f"cannot be read: {e.strerror}") from e
        statements = {}
        for file in sorted(self.path.glob("[!.]*.*" + _SUFFIX)):
            database, table = file.name.removesuffix(_SUFFIX).split(".", 1)
            try:
                statements[unquote(database).lower(), unquote(table).lower()] = _read_statement(file)
            except FileNotFoundError:  # dropped by another session meanwhile
                continue
            except (OSError, UnicodeDecodeError) as e:
                _LOG.warning("Catalog folder '%s': %s is skipped: %s", self.path, file.name, e)
        newest = max((mtime_ns for _, mtime_ns, _ in stamps), default=0)
        self._last_stamps = stamps if time.time_ns() - newest > _CLOCK_TICK_NS else None
        self.statements = statements
        return statements

    def write(self, name: TableName, statement: str) -> None:
        """Write a table's statement; the caller holds the lock.

        Raises:
            CatalogFolderError: the file cannot be written.
        """
        temporary = self.path / f".{os.getpid()}.tmp"
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(statement)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._path_of_table(name))
            self._sync_folder()
        except OSError as e:
            raise CatalogFolderError(
                f"Catalog folder '{self.path}': table '{'.'.join(name)}' cannot be written: {e.strerror}.",
                folder=str(self.path),
                table=".".join(name),
            ) from e
        self.statements[name] = statement

    def remove(self, name: TableName) -> None:
        """Remove a table's statement; the caller holds the lock."""
        self._path_of_table(name).unlink(missing_ok=True)
        self.statements.pop(name, None)
        self._sync_folder()

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the write lock, across processes. Temporary files of a writer that crashed are removed.

        Raises:
            CatalogFolderError: the folder is not writable.
        """
        try:
            descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as e:
            raise self._error(f"cannot be written: {e.strerror}") from e
        with open(descriptor) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for leftover in self.path.glob(".*.tmp"):
                leftover.unlink()
            yield

    def _check_permissions(self) -> None:
        if is_writable_by_others(self.path.stat()):
            raise self._error(
                "is writable by other users, who could redirect your tables to their servers. Restrict it to its "
                f"owner: chmod 700 '{self.path}'"
            )

    def _error(self, problem: str) -> CatalogFolderError:
        return CatalogFolderError(f"Catalog folder '{self.path}' {problem}.", folder=str(self.path))

    def _path_of_table(self, name: TableName) -> Path:
        return self.path / (".".join(quote(part, safe=" ").replace(".", "%2E") for part in name) + _SUFFIX)

    def _file_stamps(self) -> tuple[tuple[str, int, int], ...]:
        """Return names, times and sizes of the files: a write in place does not change the folder's time."""
        stamps = []
        with os.scandir(self.path) as files:
            for file in files:
                if file.name.endswith(_SUFFIX):
                    with contextlib.suppress(FileNotFoundError):  # dropped meanwhile
                        stamps.append((file.name, file.stat().st_mtime_ns, file.stat().st_size))
        return tuple(sorted(stamps))

    def _sync_folder(self) -> None:
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)  # makes the rename durable
        finally:
            os.close(folder)


def _read_statement(file: Path) -> str:
    with open(file, encoding="utf-8") as opened:
        status, is_link = os.fstat(opened.fileno()), file.is_symlink()
        # in a folder that others cannot enter, the mode of a file does not matter unless it has another path
        has_other_path = is_link or status.st_nlink > 1
        is_reachable = has_other_path or file.parent.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH)
        if is_reachable and is_writable_by_others(status):
            raise PermissionError(1, "it is writable by other users (fix: chmod 600)")
        folder = file.resolve().parent
        if is_link and is_writable_by_others(folder.stat()):
            raise PermissionError(1, f"it is a link into '{folder}', which is writable by other users")
        return opened.read()
