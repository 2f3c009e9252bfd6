"""The fingerprint in a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from kafka_sql.errors import CheckpointError, InvalidOptionError
from kafka_sql.sql.jobs.checkpoints.checkpoint import FINGERPRINT_FILE, Checkpoint, folder_name


def fingerprint(*topics: str) -> dict[str, Any]:
    sink = {"name": "table 'sink'", "topics": ["out"]}
    return {"version": 1, "sink": sink, "sources": [{"name": "table 'src'", "topics": list(topics)}], "operators": []}


class JavaError(Py4JJavaError):
    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __str__(self) -> str:
        return f"An error occurred while calling o7.create.\n: {self._reason}\n\tat org.apache.Files(Files.java:7)"


class Stream:
    """A Java stream of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, data: bytearray) -> None:
        self._path.write_bytes(data)

    def close(self) -> None:
        pass

    def text(self) -> str:
        return self._path.read_text()


class Files:
    """Hadoop's view of the local file system."""

    exists = staticmethod(Path.exists)
    open = staticmethod(Stream)

    def listStatus(self, path: Path) -> list[Path]:
        return list(path.iterdir())

    def create(self, path: Path, overwrite: bool) -> Stream:
        assert overwrite
        if path.parts[1] == "proc":
            raise JavaError("java.io.IOException: mkdir failed")
        path.parent.mkdir(parents=True, exist_ok=True)
        return Stream(path)


class HadoopPath(type(Path())):  # type: ignore[misc]
    def getFileSystem(self, configuration: object) -> Files:
        if self.parts[0] == "nosuch:":
            raise JavaError('org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "nosuch"')
        return Files()

    def getPath(self) -> HadoopPath:
        return self

    def getName(self) -> str:
        return str(self.name)


@pytest.fixture
def spark() -> Any:
    hadoop = SimpleNamespace(fs=SimpleNamespace(Path=HadoopPath))
    commons = SimpleNamespace(
        io=SimpleNamespace(IOUtils=SimpleNamespace(toString=lambda stream, charset: stream.text()))
    )
    jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(hadoop=hadoop, commons=commons)))
    state = SimpleNamespace(newHadoopConf=lambda: None)
    return SimpleNamespace(_sc=SimpleNamespace(_jvm=jvm), _jsparkSession=SimpleNamespace(sessionState=lambda: state))


def plan_batch(folder: Path) -> None:
    """Write what Spark writes before a batch."""
    (folder / "offsets").mkdir(exist_ok=True)
    (folder / "offsets" / "0").touch()


def test_another_query_is_rejected_if_the_checkpoint_has_offsets(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "job"
    checkpoint = Checkpoint(spark, str(folder), "sink")
    checkpoint.check(fingerprint("one"))
    checkpoint.record(fingerprint("one"))
    checkpoint.check(fingerprint("two"))  # no offsets to resume from
    plan_batch(folder)
    checkpoint.check(fingerprint("one", "two"))
    with pytest.raises(
        CheckpointError,
        match=r"INSERT INTO 'sink': the query cannot resume from checkpoint '.*/new/job', because a source changed "
        r"from table 'src' \(topic 'one'\) to table 'src' \(topic 'two'\)\. Run the statement as it was .*"
        r"or start with a new checkpoint: SET another 'pipeline.name' or 'execution.checkpointing.dir'\.$",
    ):
        checkpoint.check(fingerprint("two"))


def test_a_checkpoint_without_a_fingerprint_gets_one(spark: Any, tmp_path: Path) -> None:
    """Earlier versions stored none."""
    checkpoint = Checkpoint(spark, str(tmp_path), "sink")
    plan_batch(tmp_path)
    checkpoint.check(fingerprint("one"))
    checkpoint.record(fingerprint("one"))
    assert json.loads((tmp_path / FINGERPRINT_FILE).read_text()) == fingerprint("one")
    with pytest.raises(CheckpointError):
        checkpoint.check(fingerprint("two"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is damaged, .* delete this file"),
        ('{"sink": {}}', "is damaged"),
        ('{"version": 1}', "is damaged"),
        ("[]", "is damaged"),
        ('{"version": 2}', "has version 2, and this version of kafka_sql supports 1"),
    ],
)
def test_a_fingerprint_that_cannot_be_read(spark: Any, tmp_path: Path, text: str, message: str) -> None:
    plan_batch(tmp_path)
    (tmp_path / FINGERPRINT_FILE).write_text(text)
    with pytest.raises(CheckpointError, match=rf"INSERT INTO 'sink': '{tmp_path}/{FINGERPRINT_FILE}' {message}"):
        Checkpoint(spark, str(tmp_path), "sink").check(fingerprint("one"))


def test_a_folder_that_cannot_be_used(spark: Any) -> None:
    message = (
        "INSERT INTO 'sink': checkpoint folder '{}' cannot be read or written: {}.* "
        "Set 'execution.checkpointing.dir' to a folder that the driver can write"
    )
    with pytest.raises(InvalidOptionError, match=message.format("/proc/no/job", "mkdir failed")):
        Checkpoint(spark, "/proc/no/job", "sink").record(fingerprint("one"))
    with pytest.raises(InvalidOptionError, match=message.format("nosuch:/job", "No FileSystem")):
        Checkpoint(spark, "nosuch:/job", "sink")


def test_folder_names() -> None:
    assert folder_name("default.orders") == "default.orders"
    assert folder_name("../a/b") == "%2E%2E%2Fa%2Fb"
    assert folder_name("a\nb") == "a%0Ab"
