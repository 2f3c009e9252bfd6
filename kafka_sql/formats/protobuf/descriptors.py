"""Load messages from .proto files, and from descriptor files that ``protoc --include_imports`` writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError
from kafka_sql.formats.protobuf.options import DESCRIPTOR, MESSAGE, PROTO_FILE, PROTO_PATH
from kafka_sql.options import Option, Options, allow_lists
from kafka_sql.options.secrets import mask_user_info

_GOOGLE: Final = "google/protobuf/"


def load_message(options: Options) -> Descriptor:
    """Return the message that the options name.

    Raises:
        MissingOptionError, ConflictingOptionsError: not exactly one file is named.
        InvalidOptionError: the file cannot be read, is invalid, or has no such message.
    """
    option = _file_option(options)
    location, key = options[option], options.key(option)
    try:
        if option is PROTO_FILE:
            from kafka_sql.formats.protobuf.protoc import read_files, run_protoc

            folders = options.get(PROTO_PATH)
            name, texts = read_files(location, folders or ())
            return _find_message(run_protoc(texts, name), options[MESSAGE])
        return find_message(allow_lists.read_allowed(location), options[MESSAGE])
    except OSError as e:
        named = f"{e.filename}: " if e.filename and str(e.filename) != location else ""
        raise InvalidOptionError(
            f"The file of option '{key}' cannot be read: {mask_user_info(location)}: {named}{e.strerror}. The "
            "driver and each executor need the file.",
            option=key,
        ) from e
    except ValueError as e:
        raise InvalidOptionError(
            f"The file of option '{key}', {location}, {e} (option '{options.key(MESSAGE)}').", option=key
        ) from e


def _file_option(options: Options) -> Option[str]:
    """Return the option that names the file with the message."""
    found = [option for option in (DESCRIPTOR, PROTO_FILE) if options.is_set(option)]
    if not found:
        raise MissingOptionError(
            f"The file with the message is missing. Set '{options.key(PROTO_FILE)}' to a .proto file, or "
            f"'{options.key(DESCRIPTOR)}' to a compiled descriptor file.",
            option=options.key(PROTO_FILE),
        )
    if len(found) > 1 or (found[0] is DESCRIPTOR and options.is_set(PROTO_PATH)):
        other = PROTO_FILE if len(found) > 1 else PROTO_PATH
        raise ConflictingOptionsError(
            f"Options '{options.key(DESCRIPTOR)}' and '{options.key(other)}' shouldn't be set together. Remove one.",
            option=options.key(other),
        )
    return found[0]


def message_files(message: Descriptor) -> bytes:
    """Return a serialized FileDescriptorSet: the message's file comes last, and files follow those that they import."""
    files: dict[str, FileDescriptorProto] = {}

    def add(file: FileDescriptor) -> None:
        if file.name not in files:
            for imported in file.dependencies:
                add(imported)
            files[file.name] = FileDescriptorProto.FromString(file.serialized_pb)

    add(message.file)
    return bytes(FileDescriptorSet(file=files.values()).SerializeToString())


@lru_cache(maxsize=64)
def find_message(data: bytes, name: str) -> Descriptor:
    """Return the message ``name`` of a descriptor file.

    Args:
        name: its full name, or that of its Java class.

    Raises:
        ValueError: the file has no such message, or is malformed.
    """
    return _find_message(parse_descriptor_file(data), name)


def _find_message(files: list[FileDescriptorProto], name: str) -> Descriptor:
    pool = build_pool(files)
    try:
        return pool.FindMessageTypeByName(name)
    except KeyError:
        by_class = find_by_java_class(files, name)
        if by_class is not None:
            return pool.FindMessageTypeByName(by_class)
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


def find_by_java_class(files: Iterable[FileDescriptorProto], java_class: str) -> str | None:
    """Return the full name of the message with a Java class, such as ``com.shop.Orders$Order``; None if none has it.

    Nested classes can also be written with dots, as in Java's source code. The names are those that protoc generates
    (https://protobuf.dev/reference/java/java-generated/#invocation).
    """
    for file in files:
        package = f"{file.options.java_package or file.package}.".lstrip(".")
        outer = "" if file.options.java_multiple_files else f"{_outer_class(file)}$"
        for name, nested in _messages(file.message_type):
            java_name = f"{package}{outer}{nested}"
            if java_class in (java_name, java_name.replace("$", ".")):
                return f"{file.package}.{name}".lstrip(".")
    return None


def _messages(messages: Iterable[DescriptorProto], name: str = "", nested: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name of each message, with dots, and that of its class, with ``$``."""
    for message in messages:
        yield f"{name}{message.name}", f"{nested}{message.name}"
        yield from _messages(message.nested_type, f"{name}{message.name}.", f"{nested}{message.name}$")


def _outer_class(file: FileDescriptorProto) -> str:
    if file.options.java_outer_classname:
        return str(file.options.java_outer_classname)
    words = re.split(r"[^A-Za-z0-9]+", PurePosixPath(file.name).stem)
    name = re.sub(r"(?<=\d)[a-z]", lambda m: m[0].upper(), "".join(word[:1].upper() + word[1:] for word in words))
    return f"{name}OuterClass" if name in _type_names(file) else name


def _type_names(file: FileDescriptorProto) -> set[str]:
    def names(messages: Iterable[DescriptorProto], enums: Iterable[EnumDescriptorProto]) -> Iterator[str]:
        yield from (enum.name for enum in enums)
        for message in messages:
            yield message.name
            yield from names(message.nested_type, message.enum_type)

    return {*names(file.message_type, file.enum_type), *(service.name for service in file.service)}
