"""The columns of a JSON Schema, in Flink's words: what formats/json reads of such documents."""

from __future__ import annotations

import json
from typing import Any, Final, TypeAlias

from kafka_sql.formats.confluent.registry_schema import RegisteredSchema
from kafka_sql.formats.confluent.schema_inference import ColumnTypes, quote_identifier
from kafka_sql.formats.json_confluent.schema_from_table import DECIMAL, PRECISION

Node: TypeAlias = dict[str, Any]

_INTEGERS: Final = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INT"}
_TIMES: Final = {"time": "TIME", "timestamp": "TIMESTAMP", "timestamp_ltz": "TIMESTAMP_LTZ"}


def infer_columns(registered: RegisteredSchema) -> ColumnTypes:
    """Names and types.

    Raises:
        ValueError: it is no schema of an object, or a field has no type in a table.
    """
    documents = {name: _parsed(text) for name, text in registered.references}
    root = _parsed(registered.text)
    schemas = _Schemas(documents)
    node, document, names = schemas.resolved(root, root, ())
    if node.get("type", "object") != "object" or "properties" not in node:
        raise ValueError(f"is {_shown(node)}, expected an object with properties")
    return tuple(schemas.fields(node, document, names, ""))


def _parsed(text: str) -> Node:
    try:
        found = json.loads(text)
    except ValueError as e:
        raise ValueError(f"is not JSON: {e}") from e
    if not isinstance(found, dict):
        raise ValueError(f"is {_shown(found)}, expected an object")
    return found


def _shown(node: Any) -> str:
    text = json.dumps(node)
    return text if len(text) <= 80 else text[:80] + " ..."


class _Schemas:
    """Schemas that may refer to each other."""

    def __init__(self, documents: dict[str, Node]) -> None:
        self._documents = {**documents, **{d["$id"]: d for d in documents.values() if "$id" in d}}

    def resolved(self, node: Any, document: Node, names: tuple[str, ...]) -> tuple[Node, Node, tuple[str, ...]]:
        """What a node refers to, the document that it is in, and the names that led there."""
        while isinstance(node, dict) and "$ref" in node:
            name = str(node["$ref"])
            if name in names:
                raise ValueError(f"contains itself: the recursive type '{name}'")
            names = (*names, name)
            address, _, pointer = name.partition("#")
            if address:
                if address not in self._documents:
                    raise ValueError(f"refers to '{address}', which is not among its references")
                document = self._documents[address]
            node = document
            for step in filter(None, pointer.split("/")):
                step = step.replace("~1", "/").replace("~0", "~")
                if not isinstance(node, dict) or step not in node:
                    raise ValueError(f"refers to '{name}', which is not there")
                node = node[step]
        if not isinstance(node, dict):
            raise ValueError(f"has {_shown(node)}, expected a type")
        return node, document, names

    def fields(self, node: Node, document: Node, names: tuple[str, ...], path: str) -> list[tuple[str, str]]:
        """Names and types of an object's properties."""
        properties, required = node["properties"], node.get("required", [])
        places = {n: p.get("connect.index") if isinstance(p, dict) else None for n, p in properties.items()}
        order = list(properties)
        if all(isinstance(place, int) for place in places.values()):
            order.sort(key=lambda n: places[n] or 0)
        found = []
        for name in order:
            kind, nullable = self._type(properties[name], document, names, f"{path}.{name}" if path else name)
            found.append((name, kind if nullable or name not in required else f"{kind} NOT NULL"))
        return found

    def _sql(self, node: Any, document: Node, names: tuple[str, ...], path: str) -> str:
        kind, nullable = self._type(node, document, names, path)
        return kind if nullable else f"{kind} NOT NULL"

    def _type(self, node: Any, document: Node, names: tuple[str, ...], path: str) -> tuple[str, bool]:
        """A type, and whether null is allowed."""
        node, document, names = self.resolved(node, document, names)
        for word in ("oneOf", "anyOf", "allOf"):
            if word in node:
                others = [b for b in node[word] if word == "allOf" or not _is_null(b)]
                if len(others) != 1:
                    raise _unknown(node, path)
                kind, nullable = self._type(others[0], document, names, path)
                return kind, nullable or len(others) < len(node[word])
        types = node.get("type", _type_of_values(node))
        others = [t for t in (types if isinstance(types, list) else [types]) if t != "null"]
        nullable = isinstance(types, list) and "null" in types
        if len(others) != 1:
            raise _unknown(node, path)
        match others[0]:
            case "boolean":
                return "BOOLEAN", nullable
            case "integer":
                return _INTEGERS.get(node.get("connect.type", ""), "BIGINT"), nullable
            case "number":
                return _number(node), nullable
            case "string":
                return _string(node), nullable
            case "array" if "items" in node and not isinstance(node["items"], list):
                return f"ARRAY<{self._sql(node['items'], document, names, f'{path}[]')}>", nullable
            case "object" if "properties" in node:
                fields = self.fields(node, document, names, path)
                return f"ROW<{', '.join(f'{quote_identifier(name)} {kind}' for name, kind in fields)}>", nullable
            case "object" if isinstance(node.get("additionalProperties"), dict):
                values = self._sql(node["additionalProperties"], document, names, f"{path}[]")
                return f"MAP<STRING NOT NULL, {values}>", nullable
        raise _unknown(node, path)


def _is_null(node: Any) -> bool:
    return isinstance(node, dict) and node.get("type") == "null"


def _type_of_values(node: Node) -> Any:
    """The type of an enum that does not say it."""
    values = node["enum"] if "enum" in node else [node["const"]] if "const" in node else []
    if values and all(isinstance(v, str | None) for v in values):
        return ["string", "null"] if None in values else "string"
    return "object" if "properties" in node else []


def _number(node: Node) -> str:
    if node.get("title") == DECIMAL:
        parameters = node.get("connect.parameters", {})
        return f"DECIMAL({parameters.get(PRECISION, '38')}, {parameters.get('scale', '0')})"
    return "FLOAT" if node.get("connect.type") == "float32" else "DOUBLE"


def _string(node: Node) -> str:
    if node.get("connect.type") == "bytes" or node.get("contentEncoding") == "base64":
        return "BYTES"
    if node.get("flink.type") in _TIMES:
        return f"{_TIMES[node['flink.type']]}({int(node.get('flink.precision', 6))})"
    return "DATE" if node.get("format") == "date" else "STRING"


def _unknown(node: Node, path: str) -> ValueError:
    return ValueError(f"has for the field '{path}' {_shown(node)}, which no column has")
