"""A table's columns to what the compiled loop goes by: a row of numbers a slot, and a row a name."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.columnar.column_buffers import Node, nodes

# Columns of a slot's row. The last row is the payload's object itself.
KIND: Final = 0
NULLABLE: Final = 1
FIRST: Final = 2  # of a ROW: its fields' rows
FIELDS: Final = 3
CHILD: Final = 4  # of an ARRAY its element's slot, of a MAP its key's
VALUE: Final = 5  # of a MAP its value's slot
END: Final = 6  # the first slot that is not within this one
PARENT: Final = 7  # the slot that this one is within
SCALE: Final = 8  # of a DECIMAL; of a TIMESTAMP, whether it ends in Z
LOW: Final = 9  # of whole numbers the least; words of the first DECIMAL with too many digits
HIGH: Final = 10
WIDTH: Final = 11

# Columns of a name's row
NAME: Final = 0  # place of the name and the quotes around it in the texts
SIZE: Final = 1  # 0 for a name that needs escapes, which is never found
SLOT: Final = 2
NAME_WIDTH: Final = 3

BOOLEAN, INT8, INT16, INT32, INT64, FLOAT, DOUBLE, DECIMAL, TEXT, BYTES, DATE, TIME, TIMESTAMP, ROW, ARRAY, MAP = range(
    16
)

_WIDTHS: Final = {8: INT8, 16: INT16, 32: INT32, 64: INT64}


class Program:
    """What the loop goes by.

    Attributes:
        tree, slots: the columns and how many slots there are.
        rows: int64, slots + 1.
        names: int64, in the order of each ROW's fields.
        texts: uint8: the names, with eight bytes to spare.
        depth: of objects and arrays that the columns are nested in, and one.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.tree, self.slots = nodes(list(schema))
        self.rows = np.zeros((self.slots + 1, WIDTH), np.int64)
        self._names: list[tuple[int, int, int]] = []
        self._texts = bytearray()
        self.depth = 1 + max(map(self._add, self.tree), default=0)
        self._row(self.slots, self.tree)
        for node in self.tree:
            self.rows[node.slot, PARENT] = self.slots
        self.rows[self.slots, KIND] = ROW
        self.names = np.array(self._names or [(0, 0, 0)], np.int64)
        self.texts: npt.NDArray[np.uint8] = np.frombuffer(bytes(self._texts) + bytes(8), np.uint8)

    def _add(self, node: Node) -> int:
        """Fill a node's row; how deep it is nested."""
        row, t = self.rows[node.slot], node.field.type
        row[NULLABLE] = node.field.nullable
        depth = max(map(self._add, node.children), default=0)
        row[END] = node.slot + 1 if not node.children else self.rows[node.children[-1].slot, END]
        for child in node.children:
            self.rows[child.slot, PARENT] = node.slot
        if pt.is_struct(t):
            row[KIND] = ROW
            self._row(node.slot, node.children)
        elif pt.is_list(t) or pt.is_map(t):
            row[KIND] = MAP if pt.is_map(t) else ARRAY
            row[CHILD], row[VALUE] = node.children[0].slot, node.children[-1].slot
        else:
            _scalar(row, t)
            return 0
        return depth + 1

    def _row(self, slot: int, fields: list[Node]) -> None:
        self.rows[slot, FIRST], self.rows[slot, FIELDS] = len(self._names), len(fields)
        for node in fields:
            name = node.field.name.encode("utf-8", "surrogatepass")
            plain = b'"' not in name and b"\\" not in name
            self._names.append((len(self._texts), len(name) + 2 if plain else 0, node.slot))
            self._texts += b'"' + name + b'"'


def _scalar(row: npt.NDArray[np.int64], t: pa.DataType) -> None:
    if pt.is_integer(t):
        row[KIND] = _WIDTHS[t.bit_width]
        row[LOW], row[HIGH] = -(2 ** (t.bit_width - 1)), 2 ** (t.bit_width - 1) - 1
    elif pt.is_floating(t):
        row[KIND] = FLOAT if t.bit_width == 32 else DOUBLE
    elif pt.is_decimal(t):
        row[KIND], row[SCALE] = DECIMAL, t.scale
        row[LOW : HIGH + 1] = np.frombuffer((10**t.precision).to_bytes(16, "little"), np.int64)
    elif pt.is_timestamp(t):
        row[KIND], row[SCALE] = TIMESTAMP, t.tz is not None
    elif pt.is_binary(t) or pt.is_large_binary(t):
        row[KIND] = BYTES
    else:
        row[KIND] = BOOLEAN if pt.is_boolean(t) else DATE if pt.is_date(t) else TIME if pt.is_time(t) else TEXT
