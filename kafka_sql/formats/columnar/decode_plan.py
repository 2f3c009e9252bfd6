"""A table's columns to what the compiled loop goes by: a row of numbers a slot, and a row a name."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.columnar.column_buffers import ColumnNode, build_nodes

# Columns of a slot's row. The last row is the payload's object itself.
TYPE: Final = 0
NULLABLE: Final = 1
FIRST_NAME: Final = 2  # of a ROW: its fields' rows
FIELD_COUNT: Final = 3
CHILD_SLOT: Final = 4  # of an ARRAY its element's slot, of a MAP its key's
VALUE_SLOT: Final = 5  # of a MAP its value's slot
END_SLOT: Final = 6  # the first slot that is not within this one
PARENT_SLOT: Final = 7  # the slot that this one is within
SCALE: Final = 8  # of a DECIMAL; of a TIMESTAMP, whether it ends in Z
MIN_VALUE: Final = 9  # of whole numbers the least; words of the first DECIMAL with too many digits
MAX_VALUE: Final = 10
PLAN_CELLS: Final = 11

# Columns of a name's row
NAME_OFFSET: Final = 0  # place of the name and the quotes around it in the texts
NAME_SIZE: Final = 1  # 0 for a name that needs escapes, which is never found
NAME_SLOT: Final = 2
NAME_CELLS: Final = 3

BOOLEAN, INT8, INT16, INT32, INT64, FLOAT, DOUBLE, DECIMAL, STRING, BYTES, DATE, TIME, TIMESTAMP, ROW, ARRAY, MAP = (
    range(16)
)

_WIDTHS: Final = {8: INT8, 16: INT16, 32: INT32, 64: INT64}


class DecodePlan:
    """What the loop goes by.

    Attributes:
        tree, slots: the columns and how many slots there are.
        rows: int64, slots + 1.
        names: int64, in the order of each ROW's fields.
        texts: uint8: the names, with eight bytes to spare.
        depth: of objects and arrays that the columns are nested in, and one.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.tree, self.slot_count = build_nodes(list(schema))
        self.slot_table = np.zeros((self.slot_count + 1, PLAN_CELLS), np.int64)
        self._names: list[tuple[int, int, int]] = []
        self._texts = bytearray()
        self.max_depth = 1 + max(map(self._add, self.tree), default=0)
        self._row(self.slot_count, self.tree)
        for node in self.tree:
            self.slot_table[node.slot, PARENT_SLOT] = self.slot_count
        self.slot_table[self.slot_count, TYPE] = ROW
        self.name_table = np.array(self._names or [(0, 0, 0)], np.int64)
        self.name_bytes: npt.NDArray[np.uint8] = np.frombuffer(bytes(self._texts) + bytes(8), np.uint8)

    def _add(self, node: ColumnNode) -> int:
        """Fill a node's row; how deep it is nested."""
        row, t = self.slot_table[node.slot], node.field.type
        row[NULLABLE] = node.field.nullable
        depth = max(map(self._add, node.children), default=0)
        row[END_SLOT] = node.slot + 1 if not node.children else self.slot_table[node.children[-1].slot, END_SLOT]
        for child in node.children:
            self.slot_table[child.slot, PARENT_SLOT] = node.slot
        if pt.is_struct(t):
            row[TYPE] = ROW
            self._row(node.slot, node.children)
        elif pt.is_list(t) or pt.is_map(t):
            row[TYPE] = MAP if pt.is_map(t) else ARRAY
            row[CHILD_SLOT], row[VALUE_SLOT] = node.children[0].slot, node.children[-1].slot
        else:
            _scalar(row, t)
            return 0
        return depth + 1

    def _row(self, slot: int, fields: list[ColumnNode]) -> None:
        self.slot_table[slot, FIRST_NAME], self.slot_table[slot, FIELD_COUNT] = len(self._names), len(fields)
        for node in fields:
            name = node.field.name.encode("utf-8", "surrogatepass")
            plain = b'"' not in name and b"\\" not in name
            self._names.append((len(self._texts), len(name) + 2 if plain else 0, node.slot))
            self._texts += b'"' + name + b'"'


def _scalar(row: npt.NDArray[np.int64], t: pa.DataType) -> None:
    if pt.is_integer(t):
        row[TYPE] = _WIDTHS[t.bit_width]
        row[MIN_VALUE], row[MAX_VALUE] = -(2 ** (t.bit_width - 1)), 2 ** (t.bit_width - 1) - 1
    elif pt.is_floating(t):
        row[TYPE] = FLOAT if t.bit_width == 32 else DOUBLE
    elif pt.is_decimal(t):
        row[TYPE], row[SCALE] = DECIMAL, t.scale
        row[MIN_VALUE : MAX_VALUE + 1] = np.frombuffer((10**t.precision).to_bytes(16, "little"), np.int64)
    elif pt.is_timestamp(t):
        row[TYPE], row[SCALE] = TIMESTAMP, t.tz is not None
    elif pt.is_binary(t) or pt.is_large_binary(t):
        row[TYPE] = BYTES
    else:
        row[TYPE] = BOOLEAN if pt.is_boolean(t) else DATE if pt.is_date(t) else TIME if pt.is_time(t) else STRING
