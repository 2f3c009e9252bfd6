"""Infer the columns of a table from a JSON Schema: the types that formats/json reads from such documents."""

from __future__ import annotations

import json
from typing import Any, Final, TypeAlias

from kafka_sql.formats.confluent.schemas import RegisteredSchema
from kafka_sql.formats.declared_types import quote_identifier
from kafka_sql.formats.format import ColumnTypes
from kafka_sql.formats.inferred_types import size_limit
from kafka_sql.formats.json_confluent.schema_from_table import DECIMAL, PRECISION

Node: TypeAlias = dict[str, Any]

_INTEGERS: Final = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INT"}
_MAX_REFERENCES: Final = 100  # of a $ref to a node with a $ref or inside of its type, and so on
_EXCERPT_SIZE: Final = 80  # characters of a node that errors show
_TIMES: Final = {"time": "TIME", "timestamp": "TIMESTAMP", "timestamp_ltz": "TIMESTAMP_LTZ"}


def infer_columns(registered: RegisteredSchema) -> ColumnTypes:
    """Return names and types.

    Raises:
        ValueError: it is not the schema of an object, or no column type can hold a field.
        SchemaError: the types would be too large.
    """
    schemas = _Schemas({name: _parse(text) for name, text in registered.references})
    root = _parse(registered.text)
    node, document, ref_chain = schemas.resolve(root, root, ())
    if node.get("type", "object") != "object" or "properties" not in node:
        raise ValueError(f"is {_shorten(node)}, expected an object with properties")
    try:
        return tuple(schemas.fields(node, document, ref_chain, ""))
    except RecursionError as e:
        raise ValueError("is nested too deeply") from e


def _parse(text: str) -> Node:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ValueError(f"is not JSON: {e}") from e
    if not isinstance(document, dict):
        raise ValueError(f"is {_shorten(document)}, expected an object")
    return document


def _shorten(node: Any) -> str:
    """Return a node's text, shortened for errors."""
    text = json.dumps(node)
    return text if len(text) <= _EXCERPT_SIZE else text[:_EXCERPT_SIZE] + " ..."


class _Schemas:
    """Schemas that may refer to each other.

    Methods take a node, the document that contains it, and the chain of ``$ref`` values that led to it.
    """

    def __init__(self, documents: dict[str, Node]) -> None:
        self._count = size_limit()
        self._documents = {**documents, **{d["$id"]: d for d in documents.values() if "$id" in d}}

    def resolve(self, node: Any, document: Node, ref_chain: tuple[str, ...]) -> tuple[Node, Node, tuple[str, ...]]:
        """Return the node that a node refers to (itself if it has no ``$ref``), its document, and the chain to it."""
        while isinstance(node, dict) and "$ref" in node:
            name = str(node["$ref"])
            if name in ref_chain:
                raise ValueError(f"contains itself: the recursive type '{name}'")
            if len(ref_chain) >= _MAX_REFERENCES:
                raise ValueError(f"refers to '{name}' through more than {_MAX_REFERENCES} other types")
            ref_chain = (*ref_chain, name)
            address, _, pointer = name.partition("#")
            if address:
                if address not in self._documents:
                    raise ValueError(f"refers to '{address}', which is not among its references")
                document = self._documents[address]
            node = document
            for step in filter(None, pointer.split("/")):
                step = step.replace("~1", "/").replace("~0", "~")
                if not isinstance(node, dict) or step not in node:
                    raise ValueError(f"refers to '{name}', which does not exist")
                node = node[step]
        if not isinstance(node, dict):
            raise ValueError(f"has {_shorten(node)}, expected a type")
        return node, document, ref_chain

    def fields(self, node: Node, document: Node, ref_chain: tuple[str, ...], path: str) -> list[tuple[str, str]]:
        """Return names and types of an object's properties, in the order of ``connect.index`` if all have it."""
        properties, required = node["properties"], node.get("required")
        required = frozenset(map(str, required)) if isinstance(required, list) else ()
        positions = {n: p.get("connect.index") if isinstance(p, dict) else None for n, p in properties.items()}
        order = list(properties)
        if all(isinstance(position, int) for position in positions.values()):
            order.sort(key=lambda n: positions[n] or 0)
        fields = []
        for name in order:
            field_path = f"{path}.{name}" if path else name
            self._count(name, field_path)
            sql_type, nullable = self._type(properties[name], document, ref_chain, field_path)
            fields.append((name, sql_type if nullable or name not in required else f"{sql_type} NOT NULL"))
        return fields

    def _sql_type(self, node: Any, document: Node, ref_chain: tuple[str, ...], path: str) -> str:
        """Return a type with its nullability."""
        sql_type, nullable = self._type(node, document, ref_chain, path)
        return sql_type if nullable else f"{sql_type} NOT NULL"

    def _type(self, node: Any, document: Node, ref_chain: tuple[str, ...], path: str) -> tuple[str, bool]:
        """Return a type, and whether it allows null."""
        node, document, ref_chain = self.resolve(node, document, ref_chain)
        for keyword in ("oneOf", "anyOf", "allOf"):
            if keyword in node:
                branches = [b for b in node[keyword] if keyword == "allOf" or not _is_null(b)]
                if len(branches) != 1:
                    raise _unsupported(node, path)
                sql_type, nullable = self._type(branches[0], document, ref_chain, path)
                return sql_type, nullable or len(branches) < len(node[keyword])
        types = node.get("type", _type_of_enum(node))
        type_names = [type_name for type_name in (types if isinstance(types, list) else [types]) if type_name != "null"]
        nullable = isinstance(types, list) and "null" in types
        if len(type_names) != 1:
            raise _unsupported(node, path)
        match type_names[0]:
            case "boolean":
                return "BOOLEAN", nullable
            case "integer":
                return _INTEGERS.get(node.get("connect.type", ""), "BIGINT"), nullable
            case "number":
                return _number_type(node), nullable
            case "string":
                return _string_type(node), nullable
            case "array" if "items" in node and not isinstance(node["items"], list):
                return f"ARRAY<{self._sql_type(node['items'], document, ref_chain, f'{path}[]')}>", nullable
            case "object" if "properties" in node:
                fields = self.fields(node, document, ref_chain, path)
                return (
                    f"ROW<{', '.join(f'{quote_identifier(name)} {sql_type}' for name, sql_type in fields)}>",
                    nullable,
                )
            case "object" if isinstance(node.get("additionalProperties"), dict):
                values = self._sql_type(node["additionalProperties"], document, ref_chain, f"{path}[]")
                return f"MAP<STRING NOT NULL, {values}>", nullable
        raise _unsupported(node, path)


def _is_null(node: Any) -> bool:
    return isinstance(node, dict) and node.get("type") == "null"


def _type_of_enum(node: Node) -> Any:
    """Return the type of an enum or constant without ``type``."""
    values = node["enum"] if "enum" in node else [node["const"]] if "const" in node else []
    if values and all(isinstance(v, str | None) for v in values):
        return ["string", "null"] if None in values else "string"
    return "object" if "properties" in node else []


def _number_type(node: Node) -> str:
    if node.get("title") == DECIMAL:
        parameters = node.get("connect.parameters", {})
        return f"DECIMAL({parameters.get(PRECISION, '38')}, {parameters.get('scale', '0')})"
    return "FLOAT" if node.get("connect.type") == "float32" else "DOUBLE"


def _string_type(node: Node) -> str:
    if node.get("connect.type") == "bytes" or node.get("contentEncoding") == "base64":
        return "BYTES"
    if node.get("flink.type") in _TIMES:
        return f"{_TIMES[node['flink.type']]}({int(node.get('flink.precision', 6))})"
    return "DATE" if node.get("format") == "date" else "STRING"


def _unsupported(node: Node, path: str) -> ValueError:
    return ValueError(f"has for the field '{path}' {_shorten(node)}, which no column type can hold")
