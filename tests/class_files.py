"""Read Java class files, and find references to classes and members that do not exist (JVMS 4 and 5.4.3)."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_SIZES: Final = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4}
_UTF8, _LONG, _DOUBLE, _CLASS, _NAME_AND_TYPE, _MEMBERS = 1, 5, 6, 7, 12, (9, 10, 11)
_ABSTRACT: Final = 0x0400
_STATIC: Final = 0x0008


@dataclass(frozen=True)
class ClassFile:
    """A class: names have slashes, members are pairs of a name and a descriptor, with their access flags."""

    name: str
    is_abstract: bool
    parents: tuple[str, ...]
    members: dict[tuple[str, str], int]
    classes: frozenset[str]
    references: frozenset[tuple[str, str, str]]


def read_class(content: bytes) -> ClassFile:
    """Parse a class file."""
    count = struct.unpack_from(">H", content, 8)[0]
    constants: dict[int, tuple[int, bytes]] = {}
    position, index = 10, 1
    while index < count:
        tag = content[position]
        size = 2 + struct.unpack_from(">H", content, position + 1)[0] if tag == _UTF8 else _SIZES[tag]
        constants[index] = tag, content[position + 1 : position + 1 + size]
        position += 1 + size
        index += 2 if tag in (_LONG, _DOUBLE) else 1

    def text(index: int) -> str:
        return constants[index][1][2:].decode("utf-8", "surrogatepass")

    def numbers(index: int) -> tuple[int, ...]:
        value = constants[index][1]
        return struct.unpack(f">{len(value) // 2}H", value)

    def class_name(index: int) -> str:
        return text(numbers(index)[0])

    access, this, parent, interfaces = struct.unpack_from(">4H", content, position)
    position += 8
    parents = [parent, *struct.unpack_from(f">{interfaces}H", content, position)]
    position += 2 * interfaces
    members = {}
    for _ in ("fields", "methods"):
        (length,) = struct.unpack_from(">H", content, position)
        position += 2
        for _ in range(length):
            flags, name, descriptor, attributes = struct.unpack_from(">4H", content, position)
            position += 8
            for _ in range(attributes):
                position += 6 + struct.unpack_from(">I", content, position + 2)[0]
            members[text(name), text(descriptor)] = flags
    references = set()
    for tag, value in constants.values():
        if tag in _MEMBERS:
            owner, name_and_type = struct.unpack(">2H", value)
            name, descriptor = numbers(name_and_type)
            references.add((class_name(owner), text(name), text(descriptor)))
    classes = {class_name(i) for i, (tag, _) in constants.items() if tag == _CLASS}
    return ClassFile(
        class_name(this),
        bool(access & _ABSTRACT),
        tuple(class_name(i) for i in parents if i),
        members,
        frozenset(classes),
        frozenset(references),
    )


class ClassPath:
    """Finds classes in jars."""

    def __init__(self, jars: Iterable[Path]) -> None:
        self._archives: dict[str, zipfile.ZipFile] = {}
        for jar in jars:
            archive = zipfile.ZipFile(jar)
            self._archives |= {name: archive for name in archive.namelist() if name.endswith(".class")}
        self.find = cache(self._find)

    def _find(self, name: str) -> ClassFile | None:
        archive = self._archives.get(f"{name}.class")
        return read_class(archive.read(f"{name}.class")) if archive else None

    def lineage(self, name: str) -> Iterator[ClassFile | None]:
        """Yield a class and its superclasses and interfaces; None for those of the JDK, except for Object."""
        found = self.find(name)
        if found is None:
            if name != "java/lang/Object":
                yield None
            return
        yield found
        for parent in found.parents:
            yield from self.lineage(parent)


def broken_links(jar: Path, class_path: ClassPath) -> list[str]:
    """Return what the classes of a jar refer to that does not exist, and the methods that they do not implement."""
    broken = []
    with zipfile.ZipFile(jar) as archive:
        classes = [read_class(archive.read(name)) for name in archive.namelist() if name.endswith(".class")]
    for file in classes:
        for name in file.classes:
            name = name.lstrip("[").removeprefix("L").removesuffix(";") if name.startswith("[") else name
            if len(name) > 1 and not _is_of_jdk(name) and class_path.find(name) is None:
                broken.append(f"{file.name}: class {name}")
        for owner, name, descriptor in file.references:
            if _is_of_jdk(owner) or owner.startswith("[") or class_path.find(owner) is None:
                continue
            lineage = list(class_path.lineage(owner))
            if None not in lineage and not any(c and (name, descriptor) in c.members for c in lineage):
                broken.append(f"{file.name}: {owner}.{name}{descriptor}")
        if not file.is_abstract:
            broken += [f"{file.name} does not implement {method}" for method in _unimplemented(file, class_path)]
    return sorted(broken)


def _is_of_jdk(name: str) -> bool:
    return name.startswith(("java/", "javax/", "com/sun/"))


def _unimplemented(file: ClassFile, class_path: ClassPath) -> list[str]:
    lineage = [c for c in class_path.lineage(file.name) if c is not None]
    implemented = {m for c in lineage for m, flags in c.members.items() if not flags & (_ABSTRACT | _STATIC)}
    abstract = {m for c in lineage for m, flags in c.members.items() if flags & _ABSTRACT}
    of_object = {"equals", "hashCode", "toString"}
    return sorted(f"{name}{type}" for name, type in abstract - implemented if name not in of_object)
