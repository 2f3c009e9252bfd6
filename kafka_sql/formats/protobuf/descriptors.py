"""Messages of compiled descriptor files: what ``protoc --include_imports --descriptor_set_out=FILE`` writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

_GOOGLE: Final = "google/protobuf/"


def parse_descriptor_file(data: bytes) -> list[FileDescriptorProto]:
    """The files of a descriptor file.

    Raises:
        ValueError: it is none.
    """
    try:
        found = list(FileDescriptorSet.FromString(data).file)
    except DecodeError:
        found = []
    if not found or not all(file.name for file in found):
        raise ValueError("is no compiled descriptor file (protoc --include_imports --descriptor_set_out=FILE)")
    return found


def build_pool(found: Iterable[FileDescriptorProto]) -> descriptor_pool.DescriptorPool:
    """All messages of files; google's own files may be absent.

    Raises:
        ValueError: a file that one imports is absent, or one is in error.
    """
    made, left = descriptor_pool.DescriptorPool(), {file.name: file for file in found}

    def add(name: str, importer: str) -> None:
        file = left.pop(name, None)
        if file is None:
            try:
                made.FindFileByName(name)
                return
            except KeyError:
                pass
            if not name.startswith(_GOOGLE):
                raise ValueError(f"lacks the file '{name}', which '{importer}' imports (protoc --include_imports)")
            file = _own(name)
        for dependency in file.dependency:
            add(dependency, name)
        try:
            made.Add(file)
        except TypeError as e:
            raise ValueError(f"has in '{name}' an error: {e}") from e

    while left:
        name = next(iter(left))
        add(name, name)
    return made


def _own(name: str) -> FileDescriptorProto:
    """One of google's files, which the library has."""
    from google.protobuf import any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2, wrappers_pb2

    known = {m.DESCRIPTOR.name: m for m in (any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)}
    if name not in known:
        raise ValueError(f"lacks the file '{name}' (protoc --include_imports)")
    return FileDescriptorProto.FromString(known[name].DESCRIPTOR.serialized_pb)


def find_message(data: bytes, name: str) -> Descriptor:
    """The message ``name`` of a descriptor file.

    Raises:
        ValueError: there is none, or the file is in error.
    """
    found = parse_descriptor_file(data)
    try:
        return build_pool(found).FindMessageTypeByName(name)
    except KeyError:
        names = [f"{file.package}.{m.name}".lstrip(".") for file in found for m in file.message_type]
        raise ValueError(f"has no message '{name}'; it has: {', '.join(names)}") from None
