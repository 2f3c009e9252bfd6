"""Test that options can only name files in the folders that the operator allows, whatever the path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_sql.errors import InvalidOptionError, KafkaSqlError, KeyStoreError, SecretReferenceError
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka
from kafka_sql.options.allow_lists import PATHS, read_allowed, resolve_allowed
from kafka_sql.options.secret_references import resolve
from kafka_sql.source.client_config import task_client_config
from tests.batch_read import define_table
from tests.topics import Topics

OUTSIDE = "outside-4711"
SERVERS = {"bootstrap.servers": "localhost:9092"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create an allowed folder with links to another folder, and a folder that is not allowed."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    (inside / "sub").mkdir(parents=True)
    outside.mkdir()
    for directory, text in ((inside, "v"), (outside, OUTSIDE)):
        (directory / "secret").write_text(text)
        (directory / "s.properties").write_text(f"k={text}\n")
    (inside / "link").symlink_to(outside / "secret")
    (inside / "away").symlink_to(outside)
    (inside / "own").symlink_to(inside / "secret")
    (tmp_path / "inside").mkdir()  # has the allowed name as a prefix
    (tmp_path / "inside" / "secret").write_text(OUTSIDE)
    monkeypatch.setenv(PATHS, str(inside))
    return inside


@pytest.mark.parametrize(
    "reference",
    [
        "${file:IN/../out/s.properties:k}",
        "${file:IN/away/s.properties:k}",
        "${directory:IN:link}",
        "${directory:IN/away:secret}",
        "${directory:IN/sub/../../out:secret}",
        "${directory:IN/../inside:secret}",
        "${file:/etc/hostname:k}",
        "${file:in/s.properties:k}",
    ],
)
def test_files_outside_of_allowed_folders_are_rejected(folder: Path, reference: str) -> None:
    with pytest.raises(SecretReferenceError, match=f"not in the folders that {PATHS} allows") as caught:
        resolve(reference.replace("IN", str(folder)), "o")
    assert OUTSIDE not in str(caught.value)


@pytest.mark.parametrize(
    "reference", ["${file:IN/s.properties:k}", "${directory:IN:own}", "${directory:IN/sub/..:secret}"]
)
def test_files_in_allowed_folders_are_read(folder: Path, reference: str) -> None:
    assert resolve(reference.replace("IN", str(folder)), "o") == "v"


def test_several_folders(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PATHS, os.pathsep.join((str(tmp_path / "none"), str(tmp_path / "out"))))
    assert resolve(f"${{directory:{tmp_path / 'out'}:secret}}", "o") == OUTSIDE
    monkeypatch.setenv(PATHS, "")  # no folder is allowed; without the variable, all are
    with pytest.raises(SecretReferenceError):
        resolve(f"${{directory:{tmp_path / 'out'}:secret}}", "o")
    monkeypatch.delenv(PATHS)
    assert resolve(f"${{directory:{tmp_path / 'out'}:secret}}", "o") == OUTSIDE


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("ssl.truststore.location", KeyStoreError),
        ("ssl.keystore.location", KeyStoreError),
        ("ssl.ca.location", InvalidOptionError),
        ("ssl.certificate.location", InvalidOptionError),
        ("ssl.key.location", InvalidOptionError),
    ],
)
def test_stores_and_certificates(folder: Path, option: str, error: type[KafkaSqlError]) -> None:
    config = to_librdkafka({**SERVERS, option: str(folder / "link")})
    with pytest.raises(error, match=f"'properties.{option}': file '.*link'.* not in the folders that {PATHS}"):
        resolve_config(config)


def test_rack_files_must_be_allowed(folder: Path) -> None:
    definition = define_table(Topics("localhost:1"), "t", scan_rack__id=f"file:{folder / 'link'}")
    with pytest.raises(InvalidOptionError, match="not in the folders"):
        task_client_config(definition, 3)


def test_devices_and_pipes_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PATHS, raising=False)
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        with pytest.raises(OSError, match="not a regular file"):
            read_allowed(path)
    with pytest.raises(FileNotFoundError, match="the name has an invalid character"):
        read_allowed("a\0b")
    with pytest.raises(IsADirectoryError):
        read_allowed(tmp_path)
    assert resolve_allowed("~/x") == Path.home() / "x"
