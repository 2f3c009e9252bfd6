"""Allocate memory that compiled loops fill with values, and convert it to Arrow columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.formats.columnar.arrow_buffers import decode_utf8

# Cells of a slot's row
VALUES: Final = 0  # address of the values, or of int32 offsets
VALID: Final = 1  # address of a byte per entry: 1 if it is not null
DATA: Final = 2  # address of the bytes that the offsets point into
CAPACITY: Final = 3  # in entries
BYTES_CAPACITY: Final = 4  # of the memory at DATA
WIDTH: Final = 5  # bytes of a value, or one of the widths below
SLOT_CELLS: Final = 6

# What replaces a width for types without values of a fixed width
STRUCT: Final = 0
VARIABLE: Final = -1  # STRING and BYTES
LIST: Final = -2  # ARRAY and MAP

Int64Array: TypeAlias = npt.NDArray[np.int64]


@dataclass
class ColumnNode:
    """A column or a type inside it, and its slot.

    Example: the columns ``id BIGINT, tags ARRAY<STRING>`` are the slots 0 (id), 1 (tags) and 2 (the elements of tags).
    """

    slot: int  # number of the slot; -1 for the record itself
    field: pa.Field
    nested: bool  # whether it is inside an ARRAY or MAP, and so has its own number of entries
    # the fields of a ROW, the element of an ARRAY, or key and value of a MAP
    children: list[ColumnNode] = field(default_factory=list)

    @cached_property
    def width(self) -> int:
        """Bytes of a value, or STRUCT, VARIABLE or LIST."""
        arrow_type = self.field.type
        if pt.is_struct(arrow_type):
            return STRUCT
        if pt.is_list(arrow_type) or pt.is_map(arrow_type):
            return LIST
        if pt.is_boolean(arrow_type):
            return 1
        return VARIABLE if pt.is_string(arrow_type) or pt.is_binary(arrow_type) else int(arrow_type.bit_width) // 8


def build_nodes(fields: list[pa.Field], slot: int = 0, nested: bool = False) -> tuple[list[ColumnNode], int]:
    """Return a node per field, and the first slot after theirs. ``slot`` is the first field's."""
    nodes = []
    for arrow_field in fields:
        node = ColumnNode(slot, arrow_field, nested)
        node.children, slot = build_nodes(child_fields(arrow_field.type), slot + 1, nested or node.width == LIST)
        nodes.append(node)
    return nodes, slot


def child_fields(arrow_type: pa.DataType) -> list[pa.Field]:
    """Return the fields inside a type."""
    if pt.is_struct(arrow_type):
        return list(arrow_type)
    if pt.is_list(arrow_type):
        return [arrow_type.value_field]
    return [arrow_type.key_field, arrow_type.item_field] if pt.is_map(arrow_type) else []


class ColumnBuffers:
    """Memory for the columns of a batch of records.

    Attributes:
        table: int64, a row of SLOT_CELLS per slot.
        counts, bytes_used: int64 per slot: entries and bytes that have been appended.
        nulls: int64 per slot: 1 if an entry is null.
    """

    def __init__(
        self, tree: list[ColumnNode], slot_count: int, rows: int, capacity: Int64Array, bytes_capacity: Int64Array
    ) -> None:
        """Allocate ``rows`` entries per slot; for nested slots, its capacity. ``bytes_capacity`` is that of strings."""
        self.table = np.zeros((slot_count, SLOT_CELLS), np.int64)
        self.counts, self.bytes_used, self.nulls = (np.zeros(slot_count, np.int64) for _ in range(3))
        self._memory: dict[int, tuple[npt.NDArray[np.uint8], ...]] = {}
        for node in _all_nodes(tree):
            entries = int(capacity[node.slot]) if node.nested else rows
            values = np.empty((entries + 1) * max(node.width, 4 if node.width < 0 else 1), np.uint8)
            values[:4] = 0  # the first offset
            valid = np.empty(entries, np.uint8)
            data = np.empty(int(bytes_capacity[node.slot]) if node.width == VARIABLE else 0, np.uint8)
            self._memory[node.slot] = (values, valid, data)
            addresses = (a.__array_interface__["data"][0] for a in (values, valid, data))  # half the cost of ctypes
            self.table[node.slot] = (*addresses, entries, len(data), node.width)

    def enlarge(self, slot: int, capacity: int, bytes_capacity: int) -> None:
        """Grow a slot to a capacity, and keep its content."""
        values, valid, data = self._memory[slot]
        width = max(len(values) // (len(valid) + 1), 1)
        self._memory[slot] = tuple(
            _resized(old, size)
            for old, size in (
                (values, (capacity + 1) * width),
                (valid, capacity),
                (data, bytes_capacity if len(data) else 0),
            )
        )
        values, valid, data = self._memory[slot]
        self.table[slot, :WIDTH] = values.ctypes.data, valid.ctypes.data, data.ctypes.data, len(valid), len(data)

    def truncate(self, tree: list[ColumnNode], rows: int) -> None:
        """Remove the entries of all rows after the first ``rows``."""
        for node in tree:
            self.counts[node.slot] = rows
            child_rows = rows
            if node.width < 0:
                child_rows = int(self.value_bytes(node.slot).view(np.int32)[rows])
            if node.width == VARIABLE:
                self.bytes_used[node.slot] = child_rows
            self.truncate(node.children, child_rows)

    def row_indices(self, tree: list[ColumnNode], slot: int, entries: Int64Array) -> Int64Array:
        """Return the rows that entries of a slot belong to."""
        while True:
            parent = next((node for node in _all_nodes(tree) if slot in (child.slot for child in node.children)), None)
            if parent is None:
                return entries
            if parent.width == LIST:
                offsets = self.value_bytes(parent.slot).view(np.int32)[: self.counts[parent.slot] + 1]
                entries = np.searchsorted(offsets, entries, side="right") - 1
            slot = parent.slot

    def value_bytes(self, slot: int) -> npt.NDArray[np.uint8]:
        """Return the memory of a slot's values."""
        return self._memory[slot][0]

    def to_arrow(self, node: ColumnNode, is_utf8: bool = False) -> pa.Array:
        """Return the column of a node. With ``is_utf8``, the loop has checked that all strings are UTF-8."""
        arrow_type, count = node.field.type, int(self.counts[node.slot])
        values, valid, data = self._memory[node.slot]
        validity = None
        if self.nulls[node.slot]:
            validity = pa.py_buffer(np.packbits(valid[:count], bitorder="little"))
        if pt.is_boolean(arrow_type):
            bits = pa.py_buffer(np.packbits(values[:count], bitorder="little"))
            return pa.Array.from_buffers(arrow_type, count, [validity, bits])
        if node.width > 0:
            if pt.is_decimal(arrow_type):
                return self._decimal_array(node, validity, values, count)
            return pa.Array.from_buffers(arrow_type, count, [validity, pa.py_buffer(values[: count * node.width])])
        if node.width == STRUCT:
            return pa.Array.from_buffers(
                arrow_type, count, [validity], children=[self.to_arrow(c, is_utf8) for c in node.children]
            )
        offsets = pa.py_buffer(values[: (count + 1) * 4])
        if node.width == LIST:
            children = [self.to_arrow(c, is_utf8) for c in node.children]
            if pt.is_map(arrow_type):
                children = [pa.StructArray.from_arrays(children, fields=[c.field for c in node.children])]
                return _deduplicate_keys(
                    pa.Array.from_buffers(arrow_type, count, [validity, offsets], children=children)
                )
            return pa.Array.from_buffers(arrow_type, count, [validity, offsets], children=children)
        used_bytes = pa.py_buffer(data[: self.bytes_used[node.slot]])
        binary = pa.Array.from_buffers(pa.binary(), count, [validity, offsets, used_bytes])
        if pt.is_binary(arrow_type):
            return binary
        if is_utf8:
            return pa.Array.from_buffers(pa.string(), count, binary.buffers())
        return decode_utf8(binary)

    def _decimal_array(
        self, node: ColumnNode, validity: pa.Buffer | None, values: npt.NDArray[np.uint8], count: int
    ) -> pa.Array:
        """Return DECIMALs. A value that exceeds the precision is null, as in Flink's DecimalData.fromUnscaledBytes.

        In a NOT NULL field, it raises OverflowError with the slot and the entries.
        """
        arrow_type = node.field.type
        wide = pa.decimal128(38, arrow_type.scale)
        array = pa.Array.from_buffers(wide, count, [validity, pa.py_buffer(values[: count * 16])])
        limit = (10**arrow_type.precision - 1).to_bytes(16, "little")
        high = pa.Array.from_buffers(wide, 1, [None, pa.py_buffer(limit)])[0]
        fits = pc.and_(pc.less_equal(array, high), pc.greater_equal(array, pc.negate(high)))
        if pc.all(fits).as_py() is False:
            if not node.field.nullable:
                raise OverflowError(node.slot, np.flatnonzero(~fits.fill_null(True).to_numpy(zero_copy_only=False)))
            array = pc.if_else(fits, array, pa.scalar(None, wide))
        buffers = array.buffers()
        return pa.Array.from_buffers(arrow_type, count, [buffers[0], buffers[1]], offset=array.offset)


def _resized(old: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    if size <= len(old):
        return old
    new = np.empty(size, np.uint8)
    new[: len(old)] = old
    return new


def _all_nodes(tree: list[ColumnNode]) -> list[ColumnNode]:
    return [node for root in tree for node in (root, *_all_nodes(root.children))]


def _deduplicate_keys(array: pa.MapArray) -> pa.MapArray:
    """Remove repeated keys: the last value is kept, at the position of the first."""
    keys = array.keys
    if not len(keys):
        return array
    codes = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    owners = np.repeat(np.arange(len(array)), np.diff(array.offsets.to_numpy()))
    _, first, group = np.unique(owners * (codes.max() + 1) + codes, return_index=True, return_inverse=True)
    if len(first) == len(codes):
        return array
    last = np.empty(len(first), np.int64)
    last[group] = np.arange(len(codes))
    order = np.argsort(first)
    entries = pa.StructArray.from_arrays(
        [keys.take(pa.array(first[order])), array.items.take(pa.array(last[order]))],
        fields=[array.type.key_field, array.type.item_field],
    )
    offsets = np.zeros(len(array) + 1, np.int32)
    np.cumsum(np.bincount(owners[first], minlength=len(array)), out=offsets[1:])
    return pa.Array.from_buffers(
        array.type, len(array), [array.buffers()[0], pa.py_buffer(offsets)], children=[entries]
    )
