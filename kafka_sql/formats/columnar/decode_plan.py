"""Translate a table's columns to the tables of integers that the decode loops of the text formats follow.

The plan has a row of PLAN_CELLS per slot, and the record itself in a last row. The fields of each ROW, and of the
record, are consecutive rows in a table of names.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.columnar.column_buffers import ColumnNode, build_nodes

# Cells of a slot's row
TYPE: Final = 0  # one of the types below
NULLABLE: Final = 1
FIRST_NAME: Final = 2  # of a ROW: its first field's row in the table of names
FIELD_COUNT: Final = 3
CHILD_SLOT: Final = 4  # of an ARRAY: the element's slot; of a MAP: the key's
VALUE_SLOT: Final = 5  # of a MAP: the value's slot
END_SLOT: Final = 6  # the first slot that is not inside this one
PARENT_SLOT: Final = 7
SCALE: Final = 8  # of a DECIMAL. Of a TIMESTAMP, 1 if its text ends in Z
MIN_VALUE: Final = 9  # of an integer. Of a DECIMAL, the lower word of the smallest unscaled value with too many digits
MAX_VALUE: Final = 10  # of an integer. Of a DECIMAL, the upper word of that value
PLAN_CELLS: Final = 11

# Cells of a name's row
NAME_OFFSET: Final = 0  # where the name, with quotes around it, begins in the bytes of all names
NAME_SIZE: Final = 1  # 0 for a name that is escaped in JSON, which the loop never matches
NAME_SLOT: Final = 2
NAME_CELLS: Final = 3

# The loops compare types by order: numbers are at most DECIMAL, nested types at least ROW.
BOOLEAN, INT8, INT16, INT32, INT64, FLOAT, DOUBLE, DECIMAL = range(8)
STRING, BYTES, DATE, TIME, TIMESTAMP, ROW, ARRAY, MAP = range(8, 16)

_INTEGERS: Final = {8: INT8, 16: INT16, 32: INT32, 64: INT64}


class DecodePlan:
    """The tables for a schema.

    Attributes:
        tree: the columns.
        slot_count: number of slots.
        slot_table: int64, (slot_count + 1) x PLAN_CELLS.
        name_table: int64, n x NAME_CELLS.
        name_bytes: uint8: the names, and eight spare bytes.
        max_depth: levels of nested objects and arrays, including the record itself.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.tree, self.slot_count = build_nodes(list(schema))
        self.slot_table = np.zeros((self.slot_count + 1, PLAN_CELLS), np.int64)
        self._names: list[tuple[int, int, int]] = []
        self._name_bytes = bytearray()
        self.max_depth = 1 + max(map(self._add_node, self.tree), default=0)
        self._add_names(self.slot_count, self.tree)
        for node in self.tree:
            self.slot_table[node.slot, PARENT_SLOT] = self.slot_count
        self.slot_table[self.slot_count, TYPE] = ROW
        self.name_table = np.array(self._names or [(0, 0, 0)], np.int64)
        self.name_bytes: npt.NDArray[np.uint8] = np.frombuffer(bytes(self._name_bytes) + bytes(8), np.uint8)

    def _add_node(self, node: ColumnNode) -> int:
        """Fill the row of a node; return how many levels it has."""
        row, arrow_type = self.slot_table[node.slot], node.field.type
        row[NULLABLE] = node.field.nullable
        depth = max(map(self._add_node, node.children), default=0)
        row[END_SLOT] = node.slot + 1 if not node.children else self.slot_table[node.children[-1].slot, END_SLOT]
        for child in node.children:
            self.slot_table[child.slot, PARENT_SLOT] = node.slot
        if pt.is_struct(arrow_type):
            row[TYPE] = ROW
            self._add_names(node.slot, node.children)
        elif pt.is_list(arrow_type) or pt.is_map(arrow_type):
            row[TYPE] = MAP if pt.is_map(arrow_type) else ARRAY
            row[CHILD_SLOT], row[VALUE_SLOT] = node.children[0].slot, node.children[-1].slot
        else:
            _fill_scalar(row, arrow_type)
            return 0
        return depth + 1

    def _add_names(self, slot: int, fields: list[ColumnNode]) -> None:
        self.slot_table[slot, FIRST_NAME], self.slot_table[slot, FIELD_COUNT] = len(self._names), len(fields)
        for node in fields:
            name = node.field.name.encode("utf-8", "surrogatepass")
            is_escaped = b'"' in name or b"\\" in name
            self._names.append((len(self._name_bytes), 0 if is_escaped else len(name) + 2, node.slot))
            self._name_bytes += b'"' + name + b'"'


def _fill_scalar(row: npt.NDArray[np.int64], arrow_type: pa.DataType) -> None:
    if pt.is_integer(arrow_type):
        row[TYPE] = _INTEGERS[arrow_type.bit_width]
        row[MIN_VALUE], row[MAX_VALUE] = -(2 ** (arrow_type.bit_width - 1)), 2 ** (arrow_type.bit_width - 1) - 1
    elif pt.is_floating(arrow_type):
        row[TYPE] = FLOAT if arrow_type.bit_width == 32 else DOUBLE
    elif pt.is_decimal(arrow_type):
        row[TYPE], row[SCALE] = DECIMAL, arrow_type.scale
        row[MIN_VALUE : MAX_VALUE + 1] = np.frombuffer((10**arrow_type.precision).to_bytes(16, "little"), np.int64)
    elif pt.is_timestamp(arrow_type):
        row[TYPE], row[SCALE] = TIMESTAMP, arrow_type.tz is not None
    elif pt.is_binary(arrow_type):
        row[TYPE] = BYTES
    else:
        row[TYPE] = (
            BOOLEAN
            if pt.is_boolean(arrow_type)
            else DATE
            if pt.is_date(arrow_type)
            else TIME
            if pt.is_time(arrow_type)
            else STRING
        )
