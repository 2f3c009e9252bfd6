"""Read and write small files in any file system that Hadoop supports. Needs a classic session."""

from __future__ import annotations

from typing import Final

from pyspark.sql import SparkSession

from kafka_sql.spark.internal import Internal, JavaClass
from kafka_sql.spark.jvm import JavaObject, java_session, jvm, session_state

_FILES = "checkpoints and the log of Spark's file sink are in Hadoop's file systems"
_FAILS = "streaming INSERTs fail before they start"

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass("org.apache.spark.sql.internal.SessionState", _FILES, _FAILS, members=("newHadoopConf/0", "catalog/0")),
    JavaClass("org.apache.hadoop.fs.Path", _FILES, _FAILS, members=("new/1", "new/2", "getFileSystem/1")),
    JavaClass("org.apache.commons.io.IOUtils", _FILES, _FAILS, members=("toString/2",)),
)


class Folder:
    """A folder, which may not exist. All methods raise ``JAVA_EXCEPTIONS`` if the file system fails."""

    def __init__(self, spark: SparkSession, location: str, *names: str) -> None:
        """Find the file system. Does not access it."""
        apache = jvm(spark).org.apache
        self._path, self._read_text = apache.hadoop.fs.Path, apache.commons.io.IOUtils.toString
        root = self._path(location)
        for name in names:
            root = self._path(root, name)
        self._root = root
        self._file_system = root.getFileSystem(session_state(spark).newHadoopConf())

    @property
    def scheme(self) -> str:
        """The scheme of the file system's URIs, such as ``file``."""
        return str(self._file_system.getScheme())

    def exists(self, *names: str) -> bool:
        """Return whether the folder exists, or a file or folder in it."""
        return bool(self._file_system.exists(self._child(names)))

    def names(self, *names: str) -> list[str]:
        """Return the names of what the folder, or a folder in it, contains; empty if it does not exist."""
        if not self.exists(*names):
            return []
        return [str(status.getPath().getName()) for status in self._file_system.listStatus(self._child(names))]

    def read(self, name: str) -> str | None:
        """Return the text of a file; None if it does not exist."""
        if not self.exists(name):
            return None
        stream = self._file_system.open(self._child((name,)))
        text = str(self._read_text(stream, "UTF-8"))
        stream.close()
        return text

    def write(self, name: str, text: str, overwrite: bool = True) -> None:
        """Write a file, and create the folder if it does not exist. Without ``overwrite``, fail if the file exists."""
        stream = self._file_system.create(self._child((name,)), overwrite)
        stream.write(bytearray(text.encode()))
        stream.close()

    def delete(self, *names: str) -> None:
        """Delete the folder, or a file in it, if it exists. The folder must be empty."""
        self._file_system.delete(self._child(names), False)

    def _child(self, names: tuple[str, ...]) -> JavaObject:
        child = self._root
        for name in names:
            child = self._path(child, name)
        return child


def is_on_local_disk(spark: SparkSession, location: str) -> bool:
    """Return whether a folder is on a local disk; False over Spark Connect."""
    return java_session(spark) is not None and Folder(spark, location).scheme == "file"
