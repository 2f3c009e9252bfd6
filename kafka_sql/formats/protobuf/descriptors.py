"""Load messages from compiled descriptor files, which ``protoc --include_imports --descriptor_set_out=FILE`` writes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from kafka_sql.errors import InvalidOptionError
from kafka_sql.formats.protobuf.options import DESCRIPTOR, MESSAGE
from kafka_sql.options import Options, allowed_paths
from kafka_sql.options.secrets import mask_user_info

_GOOGLE: Final = "google/protobuf/"


def load_message(options: Options) -> Descriptor:
    """Return the message that the options name.

    Raises:
        InvalidOptionError: the descriptor file cannot be read, or has no such message.
    """
    location = options[DESCRIPTOR]
    try:
        data = allowed_paths.read_allowed(location)
    except OSError as e:
        raise InvalidOptionError(
            f"The file of option '{DESCRIPTOR.key}' cannot be read: {mask_user_info(location)}: {e.strerror}. The "
            "driver and each executor need the file.",
            option=DESCRIPTOR.key,
        ) from e
    try:
        return find_message(data, options[MESSAGE])
    except ValueError as e:
        raise InvalidOptionError(
            f"The file of option '{DESCRIPTOR.key}', {location}, {e} (option '{MESSAGE.key}').", option=DESCRIPTOR.key
        ) from e


@lru_cache(maxsize=64)
def find_message(data: bytes, name: str) -> Descriptor:
    """Return the message ``name`` of a descriptor file.

    Raises:
        ValueError: the file has no such message, or is malformed.
    """
    files = parse_descriptor_file(data)
    try:
        return build_pool(files).FindMessageTypeByName(name)
    except KeyError:
        names = [f"{file.package}.{m.name}".lstrip(".") for file in files for m in file.message_type]
        raise ValueError(f"has no message '{name}'; it has: {', '.join(names)}") from None


def parse_descriptor_file(data: bytes) -> list[FileDescriptorProto]:
    """Return the .proto files of a descriptor file.

    Raises:
        ValueError: it is not a descriptor file.
    """
    try:
        files = list(FileDescriptorSet.FromString(data).file)
    except DecodeError:
        files = []
    if not files or not all(file.name for file in files):
        raise ValueError("is not a compiled descriptor file (protoc --include_imports --descriptor_set_out=FILE)")
    return files


def build_pool(files: Iterable[FileDescriptorProto]) -> descriptor_pool.DescriptorPool:
    """Return a pool with the messages of all files. Google's own files may be missing.

    Raises:
        ValueError: an imported file is missing, or a file is malformed.
    """
    pool, pending = descriptor_pool.DescriptorPool(), {file.name: file for file in files}

    def add(name: str, importer: str) -> None:
        file = pending.pop(name, None)
        if file is None:
            try:
                pool.FindFileByName(name)
                return
            except KeyError:
                pass
            if not name.startswith(_GOOGLE):
                raise ValueError(f"lacks the file '{name}', which '{importer}' imports (protoc --include_imports)")
            file = _google_file(name)
        for dependency in file.dependency:
            add(dependency, name)
        try:
            pool.Add(file)
        except TypeError as e:
            raise ValueError(f"has an error in '{name}': {e}") from e

    while pending:
        name = next(iter(pending))
        add(name, name)
    return pool


def _google_file(name: str) -> FileDescriptorProto:
    """Return one of Google's files, which protobuf's library contains."""
    from google.protobuf import any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2, wrappers_pb2

    modules = (any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
    modules_by_name = {module.DESCRIPTOR.name: module for module in modules}
    if name not in modules_by_name:
        raise ValueError(f"lacks the file '{name}' (protoc --include_imports)")
    return FileDescriptorProto.FromString(modules_by_name[name].DESCRIPTOR.serialized_pb)
