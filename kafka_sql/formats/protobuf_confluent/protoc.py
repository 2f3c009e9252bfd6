"""Compile schemas of a registry to descriptors, with the protoc that grpcio-tools contains."""

from __future__ import annotations

import base64
import importlib.util
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
from kafka_sql.formats.protobuf_confluent.message_indexes import FIRST_MESSAGE, find_message

_MAIN: Final = "kafka_sql_schema.proto"
_TIMEOUT: Final = 120.0  # seconds


@lru_cache(maxsize=256)
def compile_schema(text: str, references: tuple[tuple[str, str], ...] = ()) -> FileDescriptor:
    """Return the file of a schema.

    Args:
        references: import names and texts of the files that it imports.

    Raises:
        ValueError: the schema is invalid.
    """
    imported = [_parse_descriptor(name, referenced_text) for name, referenced_text in references]
    main = _parse_descriptor(_MAIN, text)
    if main is not None and all(file is not None for file in imported):
        files = [file for file in (*imported, main) if file is not None]
    else:
        files = _run_protoc((*references, (_MAIN, text)))
    return descriptors.build_pool(files).FindFileByName(_MAIN)


def select_message(registered: RegisteredSchema, name: str | None) -> Descriptor:
    """Return the message ``name`` of a schema, or its first.

    Raises:
        ValueError: the schema has no such message.
    """
    file = compile_schema(registered.text, registered.references)
    if name is None:
        return find_message(file, FIRST_MESSAGE)
    messages = _messages_by_name(list(file.message_types_by_name.values()))
    if name not in messages:
        raise ValueError(f"has no message '{name}'; it has: {', '.join(messages)}")
    return messages[name]


def _parse_descriptor(name: str, text: str) -> FileDescriptorProto | None:
    """Return a file whose registered text is its descriptor in base64, as Confluent's Python client registers it."""
    try:
        file = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (ValueError, DecodeError):
        return None
    file.name = name
    return file


def _run_protoc(texts: tuple[tuple[str, str], ...]) -> list[FileDescriptorProto]:
    environment = {"PATH": "", "PYTHONPATH": _packages_folder()}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts:
            _write_source(Path(folder, "in").resolve(), name, text)
        output = Path(folder, "out")
        try:
            process = subprocess.run(
                [sys.executable, "-W", "ignore", "-m", "grpc_tools.protoc", f"-I{Path(folder, 'in').resolve()}",
                 "--include_imports", f"--descriptor_set_out={output}", _MAIN],
                capture_output=True, text=True, timeout=_TIMEOUT, check=False, env=environment,
                cwd=folder,  # with -m, Python would also import modules in the current folder
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ValueError(f"takes protoc more than {_TIMEOUT:g} s to compile") from None
        if process.returncode:
            message = "; ".join(line for line in process.stderr.splitlines() if "warning:" not in line.lower())
            raise ValueError(f"is rejected by protoc: {message.replace(_MAIN, 'line')}")
        return descriptors.parse_descriptor_file(output.read_bytes())


def _packages_folder() -> str:
    """Return the folder that contains grpc_tools: with ``spark-submit --archives``, not that of the Python."""
    spec = importlib.util.find_spec("grpc_tools")
    return str(Path(spec.origin).parents[1]) if spec and spec.origin else ""


def _write_source(folder: Path, name: str, text: str) -> None:
    path = folder / name
    if path.resolve() == folder or not path.resolve().is_relative_to(folder):
        raise ValueError(f"refers to '{name}', which is not a file name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError as e:  # for example, the name is too long, or another file's folder
        raise ValueError(f"refers to '{name}', which is not a file name ({e.strerror})") from None


def _messages_by_name(messages: list[Descriptor]) -> dict[str, Descriptor]:
    """Return messages and those nested in them, by full name."""
    by_name = {}
    for message in messages:
        by_name[message.full_name] = message
        by_name |= _messages_by_name(list(message.nested_types))
    return by_name
