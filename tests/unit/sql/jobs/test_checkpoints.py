"""The query that a checkpoint belongs to, and where the checkpoint is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.errors import StatementError
from kafka_sql.sql.jobs import streaming
from kafka_sql.sql.jobs.checkpoints import check_owner, local_folder, query_digest, record_owner


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("SELECT a FROM t", "select  a -- c\nfrom T", True),
        ("SELECT 'a' FROM t", "SELECT 'A' FROM t", False),
        ("SELECT a FROM t", "SELECT a FROM t /*+ OPTIONS('a' = 'b') */", False),
        ("SELECT a FROM t", "SELECT a FROM t WHERE a > 1", False),
        ("SELECT 1 2", "SELECT 12", False),
    ],
)
def test_query_digest(first: str, second: str, is_same: bool) -> None:
    assert (query_digest(first) == query_digest(second)) is is_same


def test_another_query_is_rejected_if_the_checkpoint_has_offsets(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "insert-into_t"
    check_owner(folder, "t", folder.name, "SELECT 1")
    record_owner(folder, "SELECT 1")
    check_owner(folder, "t", folder.name, "SELECT 2")  # no offsets to resume from
    (folder / "offsets").mkdir()
    (folder / "offsets" / "0").write_text("v1")
    check_owner(folder, "t", folder.name, "select 1")
    with pytest.raises(StatementError, match=r"another query.*SET 'pipeline.name' = 'insert-into_t'"):
        check_owner(folder, "t", folder.name, "SELECT 2")


def session(default_filesystem: str = "file:///") -> Any:
    """Return a session whose user has set every limit of a batch."""
    configuration = SimpleNamespace(get=lambda key, default: default_filesystem)
    context = SimpleNamespace(_jsc=SimpleNamespace(hadoopConfiguration=lambda: configuration))
    return SimpleNamespace(_sc=context, conf=SimpleNamespace(get=lambda key, default: "64m"))


@pytest.mark.parametrize(
    ("location", "default_filesystem", "folder"),
    [
        ("/a b/c%d", "file:///", "/a b/c%d"),
        ("file:/a/b", "hdfs://h:1", "/a/b"),
        ("file:///a%20b#c", "hdfs://h:1", "/a%20b#c"),
        ("file://host/a", "file:///", None),
        ("/a/b", "hdfs://h:1", None),
        ("s3a://bucket/a", "file:///", None),
        ("a/b", "file:///", None),
    ],
)
def test_local_folder(location: str, default_filesystem: str, folder: str | None) -> None:
    assert local_folder(session(default_filesystem), location) == (Path(folder) if folder else None)
    assert local_folder(SimpleNamespace(client=None), location) is None  # type: ignore[arg-type]


class Writer:
    """A fake DataStreamWriter that only creates the checkpoint."""

    def __init__(self) -> None:
        self.writeStream = self

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self

    def option(self, key: str, value: str) -> Writer:
        self.location = Path(value)
        return self

    def start(self) -> Path:
        (self.location / "offsets").mkdir(parents=True, exist_ok=True)
        (self.location / "offsets" / "0").touch()
        return self.location


def test_only_a_default_name_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, str | None] = {"execution.checkpointing.dir": str(tmp_path)}
    monkeypatch.setattr(streaming.settings, "read", lambda _, option: settings.get(option.key))
    monkeypatch.setattr(streaming, "check_exactly_once", lambda *_: None)
    monkeypatch.setattr(streaming, "register_job", lambda _, query: SimpleNamespace(folder=query))
    entry: Any = SimpleNamespace(definition=SimpleNamespace(name="t"), provider="kafka.t")

    def run(text: str) -> Any:
        return streaming.start_job(session(), entry, Writer(), text).folder  # type: ignore[arg-type, attr-defined]

    assert run("SELECT 1") == tmp_path / "insert-into_t"
    assert run("SELECT 1") == tmp_path / "insert-into_t"
    with pytest.raises(StatementError, match="another query"):
        run("SELECT 2")
    settings["pipeline.name"] = "insert-into_t"
    assert run("SELECT 2") == tmp_path / "insert-into_t"
