"""Find messages by the names of their generated Java classes, as in Flink's 'protobuf.message-class-name'.

The rules are those of protoc (https://protobuf.dev/reference/java/java-generated/#invocation).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto


def find_by_java_class(files: Iterable[FileDescriptorProto], java_class: str) -> str | None:
    """Return the full name of the message with a Java class, such as ``com.shop.Orders$Order``; None if none has it.

    Nested classes can also be written with dots, as in Java's source code.
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
