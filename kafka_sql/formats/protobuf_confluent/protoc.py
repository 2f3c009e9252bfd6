"""Schemas of a registry as descriptors: the text of a .proto file goes through protoc, which grpcio-tools brings."""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Final

from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

from kafka_sql.formats.confluent.registry_schema import RegisteredSchema
from kafka_sql.formats.protobuf import descriptors

_MAIN: Final = "kafka_sql_schema.proto"
_SECONDS: Final = 120.0


@lru_cache(maxsize=256)
def compile_schema(text: str, references: tuple[tuple[str, str], ...] = ()) -> FileDescriptor:
    """The file of a schema.

    Args:
        references: names, as they are imported, and texts of the files that it imports.

    Raises:
        ValueError: it is in error; says how.
    """
    known = [_described(name, one) for name, one in references]
    main = _described(_MAIN, text)
    if main is not None and all(file is not None for file in known):
        files = [file for file in (*known, main) if file is not None]
    else:
        files = _compiled((*references, (_MAIN, text)))
    return descriptors.build_pool(files).FindFileByName(_MAIN)


def _described(name: str, text: str) -> FileDescriptorProto | None:
    """A file that is registered as its descriptor, in base64, as Confluent's Python client does."""
    try:
        found = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (ValueError, DecodeError):
        return None
    found.name = name
    return found


def _compiled(texts: tuple[tuple[str, str], ...]) -> list[FileDescriptorProto]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts:
            _write(Path(folder, "in").resolve(), name, text)
        out = Path(folder, "out")
        try:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-m", "grpc_tools.protoc", f"-I{Path(folder, 'in').resolve()}",
                 "--include_imports", f"--descriptor_set_out={out}", _MAIN],
                capture_output=True, text=True, timeout=_SECONDS, check=False, env={"PATH": ""},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ValueError(f"keeps protoc busy for more than {_SECONDS:g} s") from None
        if done.returncode:
            said = "; ".join(line for line in done.stderr.splitlines() if "warning:" not in line.lower())
            raise ValueError(f"is refused by protoc: {said.replace(_MAIN, 'line')}")
        return descriptors.parse_descriptor_file(out.read_bytes())


def _write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    if path.resolve() == folder or not path.resolve().is_relative_to(folder):
        raise ValueError(f"refers to '{name}', which is no name of a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError as e:  # too long, or another's folder
        raise ValueError(f"refers to '{name}', which is no name of a file ({e.strerror})") from None


def find_message_by_indexes(file: FileDescriptor, indexes: tuple[int, ...]) -> Descriptor:
    """The message at these places: of the file, then of the message before.

    Raises:
        ValueError: there is none.
    """
    names = list(file.message_types_by_name.values())
    found = None
    for index in indexes:
        if not 0 <= index < len(names):
            raise ValueError(f"has no message at the places {list(indexes)}")
        found = names[index]
        names = list(found.nested_types)
    if found is None:
        raise ValueError("has no message")
    return found


def message_indexes(message: Descriptor) -> tuple[int, ...]:
    """The places of a message: the way back of ``message_at``."""
    outer = message.containing_type
    if outer is not None:
        return (*message_indexes(outer), [m.full_name for m in outer.nested_types].index(message.full_name))
    return (list(message.file.message_types_by_name).index(message.name),)


def select_message(registered: RegisteredSchema, name: str | None) -> Descriptor:
    """The message of a schema that has the name, or its first.

    Raises:
        ValueError: there is none.
    """
    file = compile_schema(registered.text, registered.references)
    if name is None:
        return find_message_by_indexes(file, (0,))
    known = _all(list(file.message_types_by_name.values()))
    if name not in known:
        raise ValueError(f"has no message '{name}'; it has: {', '.join(known)}")
    return known[name]


def _all(messages: list[Descriptor]) -> dict[str, Descriptor]:
    found = {}
    for message in messages:
        found[message.full_name] = message
        found |= _all(list(message.nested_types))
    return found
