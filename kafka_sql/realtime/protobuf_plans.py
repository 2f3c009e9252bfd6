"""Describe a message to Java, which decodes and encodes its fields as the compiled loops do.

A plan of Java's is a tree of messages and fields instead of the loops' tables, because Java fills one row at a time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as pt
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from kafka_sql.formats.columnar.column_buffers import child_fields
from kafka_sql.formats.protobuf import opcodes
from kafka_sql.formats.protobuf.decode_plan import field_wire_type, oneof_of, signed_bits
from kafka_sql.formats.protobuf.encoder import null_bits, presence_of, value_type
from kafka_sql.formats.protobuf.field_mapping import TIMESTAMP, FieldMapping, map_fields

_UNSIGNED_LIMITS: Final = {
    opcodes.UNSIGNED_32: 2**32,
    opcodes.FIXED_4_UNSIGNED: 2**32,
    opcodes.UNSIGNED_64: 2**64,
    opcodes.FIXED_8_UNSIGNED: 2**64,
}


def message_plan_json(
    schema: pa.Schema, message: Descriptor, read_defaults: bool = False, allow_evolution: bool = False
) -> str:
    """Return the description of a message as ``ProtobufReader.java`` and ``ProtobufEncoder.java`` read it.

    Args:
        schema: the columns.
        read_defaults: whether an absent field is its default, not null.
        allow_evolution: whether columns without a field are null.

    Raises:
        SchemaError: a column has no field, or its type does not match.
    """
    positions = _column_positions(schema, "", count())
    plan = _Planner(read_defaults, positions).plan(message, schema, map_fields(schema, message, "", allow_evolution))
    return json.dumps({"message": plan, "read_defaults": read_defaults})


def _column_positions(fields: Any, path: str, numbers: Any) -> dict[str, int]:
    """Number the columns and the columns inside them in the order in which nulls are reported."""
    positions = {}
    for field in fields:
        field_path = f"{path}.{field.name}" if path else field.name
        positions[field_path] = next(numbers)
        arrow_type = field.type
        while pt.is_list(arrow_type) or pt.is_map(arrow_type):
            field_path, arrow_type = f"{field_path}[]", child_fields(arrow_type)[-1].type
        if pt.is_struct(arrow_type):
            positions |= _column_positions(arrow_type, field_path, numbers)
    return positions


class _Planner:
    """Describes messages and their fields."""

    def __init__(self, read_defaults: bool, positions: Mapping[str, int]) -> None:
        self._read_defaults, self._positions = read_defaults, positions

    def plan(
        self, message: Descriptor, columns: Any, mappings: Sequence[FieldMapping], path: str | None = ""
    ) -> dict[str, Any]:
        """Return a message.

        Args:
            columns: Arrow's fields of the columns, or of the ROW.
            path: the path of the ROW; None if it is no ROW.
        """
        numbers = {field.name: k for k, field in enumerate(columns)}
        fields = {m.descriptor.number: self._plan_field(m, numbers[m.column.name]) for m in mappings}
        oneofs = {oneof_of(m.descriptor) for m in mappings} - {-1}
        for descriptor in message.fields:  # fields without a column that must be seen
            if descriptor.number not in fields and (descriptor.is_required or oneof_of(descriptor) in oneofs):
                fields[descriptor.number] = _plan_unmapped(descriptor)
        return {
            "name": message.full_name,
            "fields": [fields[number] for number in sorted(fields)],
            "not_null": [] if path is None else self._not_null(columns, path),
        }

    def _not_null(self, columns: Any, path: str) -> list[dict[str, Any]]:
        paths = [f"{path}.{field.name}" if path else field.name for field in columns]
        return [
            {"column": k, "path": field_path, "position": self._positions[field_path]}
            for k, (field, field_path) in enumerate(zip(columns, paths, strict=True))
            if not field.nullable
        ]

    def _plan_field(self, mapping: FieldMapping, column: int) -> dict[str, Any]:
        """Return a field with a column."""
        plan, arrow_type = _plan_common(mapping.descriptor, mapping.path, column), mapping.column.type
        if not mapping.is_repeated:
            return plan | self._plan_value(mapping)
        plan |= {"reads_default": self._read_defaults, "is_packed": bool(mapping.descriptor.is_packed)}
        if pt.is_map(arrow_type):
            assert mapping.message is not None
            # the names of Arrow's fields need not be those of the message
            entry = self.plan(mapping.message, [child.column for child in mapping.children], mapping.children, None)
            return plan | {"form": "map", "kind": "row", "opcode": opcodes.MESSAGE, "message": entry}
        return plan | self._plan_value(mapping.children[0]) | {"form": "array", "reads_default": self._read_defaults}

    def _plan_value(self, mapping: FieldMapping) -> dict[str, Any]:
        """Return a field that is not repeated, or the element of an array."""
        descriptor, arrow_type = mapping.descriptor, mapping.column.type
        in_map = descriptor.containing_type.GetOptions().map_entry
        reads_default = (self._read_defaults and not mapping.is_well_known) or in_map
        plan: dict[str, Any] = {
            "form": "single",
            "kind": "scalar",
            "opcode": mapping.opcode,
            "reads_default": reads_default,
            "presence": presence_of(mapping),
            "null_bits": null_bits(mapping),
        }
        if mapping.message is not None and mapping.opcode == opcodes.BYTES:
            return plan | {"kind": "json", "name": mapping.message.full_name}
        if mapping.message is not None:
            kind = "row" if pt.is_struct(arrow_type) else "wrapper"
            kind = "timestamp" if mapping.message.full_name == TIMESTAMP and kind != "row" else kind
            columns = arrow_type if kind == "row" else [child.column for child in mapping.children]
            path = mapping.path if kind == "row" else None
            return plan | {"kind": kind, "message": self.plan(mapping.message, columns, mapping.children, path)}
        return plan | _plan_scalar(mapping, is_absent_null=descriptor.has_presence and not reads_default)


def _plan_common(descriptor: FieldDescriptor, path: str, column: int) -> dict[str, Any]:
    return {
        "number": descriptor.number,
        "path": path,
        "column": column,
        "wire_type": field_wire_type(descriptor),
        "oneof": oneof_of(descriptor),
        "is_required": bool(descriptor.is_required),
    }


def _plan_unmapped(descriptor: FieldDescriptor) -> dict[str, Any]:
    """Return a field without a column. A number that its enum does not have does not count in a oneof."""
    plan = _plan_common(descriptor, descriptor.name, -1)
    enum = descriptor.enum_type
    is_closed = enum is not None and enum.is_closed
    return plan | {
        "form": "single",
        "kind": "unmapped",
        "opcode": opcodes.CLOSED_ENUM if is_closed else opcodes.UNMAPPED,
        "symbols": [[value.number, value.name] for value in enum.values] if is_closed else None,
    }


def _plan_scalar(mapping: FieldMapping, is_absent_null: bool) -> dict[str, Any]:
    descriptor, enum = mapping.descriptor, mapping.descriptor.enum_type
    default = descriptor.default_value if not descriptor.is_repeated else None
    is_bytes = mapping.opcode >= opcodes.BYTES
    if default is None or is_absent_null:
        default = None
    elif is_bytes:
        default = (default.encode() if isinstance(default, str) else bytes(default)).hex()
    else:
        default = signed_bits(mapping, default)
    return {
        "default": default,
        "value_type": value_type(mapping),
        "unsigned_limit": str(_UNSIGNED_LIMITS[mapping.opcode] - 1) if mapping.opcode in _UNSIGNED_LIMITS else None,
        "full_name": descriptor.full_name,
        "symbols": None if enum is None else [[value.number, value.name] for value in enum.values],
    }
