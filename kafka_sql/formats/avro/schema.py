"""Parse Avro schemas (Avro 1.12 specification, "Schema Declaration")."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_NAME: Final = re.compile(r"[^\W\d]\w*")
NO_DEFAULT: Final = object()


@dataclass(frozen=True)
class AvroType:
    """A schema.

    Example: ``["null", {"type": "array", "items": "int"}]`` is a union whose ``items`` are null and an array, whose
    ``element`` is an int.

    Attributes:
        type_name: ``int``, ``record``, ``union`` ...
        name: full name of a record, enum or fixed.
        logical_type: the logicalType, empty if there is none.
        precision, scale: of a decimal.
        size: of a fixed.
        symbols, default: of an enum; the default is None if there is none.
        fields: of a record.
        items: the branches of a union, or the only element type of an array or map.
    """

    type_name: str
    name: str = ""
    logical_type: str = ""
    precision: int = 0
    scale: int = 0
    size: int = 0
    symbols: tuple[str, ...] = ()
    default: str | None = None
    fields: tuple[AvroField, ...] = ()
    items: tuple[AvroType, ...] = ()

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
            return "[" + ", ".join(map(str, self.items)) + "]"
        return f"{self.type_name} {self.name}".strip() + (f" ({self.logical_type})" if self.logical_type else "")


@dataclass(frozen=True)
class AvroField:
    """A field of a record; ``default`` is NO_DEFAULT if there is none."""

    name: str
    type: AvroType
    default: Any = NO_DEFAULT
    aliases: tuple[str, ...] = field(default=())


def parse_schema(text: str, references: Iterable[str] = ()) -> AvroType:
    """Parse a schema, which is JSON.

    Args:
        references: the schemas whose named types the schema uses.

    Raises:
        ValueError: it is not an Avro schema, or contains itself.
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
                    raise ValueError(f"contains itself: the recursive type '{full_name}' has no columns in a table")
                return avro_type
        raise ValueError(f"names the unknown type '{name}'")

    def _named_type(self, type_name: str, document: Mapping[str, Any], namespace: str) -> AvroType:
        name = str(document.get("name", ""))
        if "." not in name:
            space = document.get("namespace", namespace)
            name = f"{space}.{name}" if space else name
        space = name.rpartition(".")[0]
        if not all(_NAME.fullmatch(part) for part in name.split(".")):
            raise ValueError(f"has the illegal name '{name}'")
        self._named[name] = None
        if type_name == "enum":
            avro_type = AvroType("enum", name, symbols=tuple(document["symbols"]), default=document.get("default"))
        elif type_name == "fixed":
            size = int(document["size"])
            if not 0 <= size < 1 << 31:
                raise ValueError(f"has the illegal size {size} at '{name}'")
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
    if not isinstance(logical_type, str):
        return avro
    precision, scale = int(document.get("precision", 0)), int(document.get("scale", 0))
    return AvroType(avro.type_name, avro.name, logical_type, precision, scale, avro.size)
