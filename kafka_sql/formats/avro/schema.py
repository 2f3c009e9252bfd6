"""Parse Avro schemas (Avro 1.12 specification, "Schema Declaration")."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_SCALARS: Final = PRIMITIVES | {"enum", "fixed"}
_NAME: Final = re.compile(r"[^\W\d]\w*")
NO_DEFAULT: Final = object()
MAX_DEPTH: Final = 100  # levels of records, arrays, maps and unions
_MAX_NAME_SIZE: Final = 60  # characters of a name, and
_MAX_BRANCHES: Final = 8  # branches of a union, that errors show
_SIZES: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
# The logical types of the specification by primitive type. Others, and those of other types, have no effect.
_LOGICAL_TYPES: Final = {
    "int": {"date", "time-millis"},
    "long": {"time-micros"}
    | {f"{prefix}timestamp-{unit}" for prefix in ("", "local-") for unit in ("millis", "micros", "nanos")},
    "string": {"uuid"},
    "bytes": {"decimal", "big-decimal"},
    "fixed": {"decimal", "duration", "uuid"},
}


@dataclass(eq=False)
class AvroType:
    """A schema. A named type is one object, however often it is used: traversing each use can take exponential time.

    Example: ``["null", {"type": "array", "items": "int"}]`` is a union whose ``items`` are null and an array, whose
    ``element`` is an int.
    """

    type_name: str  # ``int``, ``record``, ``union`` ...
    name: str = ""  # full name of a record, enum or fixed
    logical_type: str = ""  # the logicalType, empty if there is none
    # of a decimal
    precision: int = 0
    scale: int = 0
    size: int = 0  # of a fixed
    # of an enum; the default is None if there is none
    symbols: tuple[str, ...] = ()
    default: str | None = None
    fields: tuple[AvroField, ...] = ()  # of a record
    items: tuple[AvroType, ...] = ()  # the branches of a union, or the only element type of an array or map
    is_reused: bool = False  # whether it is a named type that is named again after its definition

    @cached_property
    def depth(self) -> int:
        """The levels of nesting; of a primitive type 0."""
        inside = (*self.items, *(f.type for f in self.fields))
        return 1 + max((avro.depth for avro in inside), default=0) if self.type_name not in _SCALARS else 0

    @cached_property
    def minimum_size(self) -> int:
        """The smallest number of bytes that a value takes."""
        if self.type_name == "record":
            return sum(f.type.minimum_size for f in self.fields)
        return self.size if self.type_name == "fixed" else _SIZES.get(self.type_name, 1)

    @cached_property
    def parts(self) -> tuple[AvroType, ...]:
        """The types of a record's fields that take at least a byte."""
        return tuple(f.type for f in self.fields if f.type.minimum_size)

    @property
    def element(self) -> AvroType:
        """The type of an array's elements or a map's values."""
        return self.items[0]

    def find_record(self) -> AvroType | None:
        """Return this schema if it is a record, or the first record among the branches of a union."""
        branches = self.items if self.type_name == "union" else (self,)
        return next((branch for branch in branches if branch.type_name == "record"), None)

    def __str__(self) -> str:
        if self.type_name == "union":
            branches = [str(branch) for branch in self.items[:_MAX_BRANCHES]]
            return "[" + ", ".join(branches + ["..."] * (len(self.items) > _MAX_BRANCHES)) + "]"
        return f"{self.type_name} {shorten(self.name)}".strip() + (f" ({self.logical_type})" * bool(self.logical_type))


@dataclass(frozen=True, eq=False)
class AvroField:
    """A field of a record; ``default`` is NO_DEFAULT if there is none."""

    name: str
    type: AvroType
    default: Any = NO_DEFAULT
    aliases: tuple[str, ...] = field(default=())


def shorten(name: str) -> str:
    """Return a name for an error."""
    return name if len(name) <= _MAX_NAME_SIZE else name[: _MAX_NAME_SIZE - 3] + "..."


def parse_schema(text: str, references: Iterable[str] = ()) -> AvroType:
    """Parse a schema, which is JSON.

    Args:
        references: the schemas whose named types the schema uses.

    Raises:
        ValueError: it is not an Avro schema, contains itself, or is nested more than MAX_DEPTH levels deep.
    """
    try:
        return _parse(text, references)
    except (KeyError, TypeError, AttributeError, OverflowError, RecursionError) as e:
        raise ValueError(f"is not an Avro schema ({type(e).__name__}: {str(e)[:60]})") from e


def _parse(text: str, references: Iterable[str]) -> AvroType:
    parser = _Parser()
    for reference in references:
        parser.parse(json.loads(reference), "")
    try:
        document = json.loads(text)
    except json.JSONDecodeError as e:
        if _NAME.fullmatch(text.strip()):
            document = text.strip()
        else:
            raise ValueError(f"is not JSON: {e}") from e
    return parser.parse(document, "")


class _Parser:
    def __init__(self) -> None:
        self._named: dict[str, AvroType | None] = {}  # None while it is being parsed

    def parse(self, document: Any, namespace: str) -> AvroType:
        avro = self._parse(document, namespace)
        if avro.depth > MAX_DEPTH:
            raise ValueError(f"is nested more than {MAX_DEPTH} levels deep")
        return avro

    def _parse(self, document: Any, namespace: str) -> AvroType:
        if isinstance(document, str):
            return self._reference(document, namespace)
        if isinstance(document, list):
            return AvroType("union", items=tuple(self.parse(branch, namespace) for branch in document))
        if not isinstance(document, Mapping) or "type" not in document:
            raise ValueError(f"has no type at {json.dumps(document)[:60]}")
        type_name = document["type"]
        if not isinstance(type_name, str):
            return self.parse(type_name, namespace)
        if type_name in ("record", "error", "enum", "fixed"):
            return self._named_type(type_name, document, namespace)
        if type_name in ("array", "map"):
            return AvroType(
                type_name, items=(self.parse(document["items" if type_name == "array" else "values"], namespace),)
            )
        return _with_logical_type(self._reference(type_name, namespace), document)

    def _reference(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        for full_name in (name, f"{namespace}.{name}"):
            if full_name in self._named:
                avro_type = self._named[full_name]
                if avro_type is None:
                    raise ValueError(
                        f"contains itself: the recursive type '{shorten(full_name)}' has no columns in a table"
                    )
                avro_type.is_reused = True
                return avro_type
        raise ValueError(f"names the unknown type '{shorten(name)}'")

    def _named_type(self, type_name: str, document: Mapping[str, Any], namespace: str) -> AvroType:
        name = str(document.get("name", ""))
        if "." not in name:
            space = document.get("namespace", namespace)
            name = f"{space}.{name}" if space else name
        space = name.rpartition(".")[0]
        if not all(_NAME.fullmatch(part) for part in name.split(".")):
            raise ValueError(f"has the illegal name '{shorten(name)}'")
        self._named[name] = None
        if type_name == "enum":
            avro_type = AvroType("enum", name, symbols=tuple(document["symbols"]), default=document.get("default"))
        elif type_name == "fixed":
            size = int(document["size"])
            if not 0 <= size < 1 << 31:
                raise ValueError(f"has the illegal size {size} at '{shorten(name)}'")
            avro_type = _with_logical_type(AvroType("fixed", name, size=size), document)
        else:
            avro_type = AvroType("record", name, fields=tuple(self._field(f, space) for f in document["fields"]))
        self._named[name] = avro_type
        return avro_type

    def _field(self, document: Mapping[str, Any], namespace: str) -> AvroField:
        default = document.get("default", NO_DEFAULT)
        return AvroField(
            document["name"], self.parse(document["type"], namespace), default, tuple(document.get("aliases", ()))
        )


def _with_logical_type(avro: AvroType, document: Mapping[str, Any]) -> AvroType:
    logical_type = document.get("logicalType")
    if not isinstance(logical_type, str) or logical_type not in _LOGICAL_TYPES.get(avro.type_name, ()):
        return avro
    precision, scale = int(document.get("precision", 0)), int(document.get("scale", 0))
    if logical_type == "decimal" and not 0 <= scale <= precision > 0:
        return avro
    return AvroType(avro.type_name, avro.name, logical_type, precision, scale, avro.size)
