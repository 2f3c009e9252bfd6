"""The arrays that compiled loops fill, and the columns that they become."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.formats.java.charset import Charset

# Columns of a slot's row
VALUES: Final = 0  # address of values, or of int32 offsets
VALID: Final = 1  # address of a byte for each
DATA: Final = 2  # address of what the offsets point into
CAPACITY: Final = 3  # entries
BYTES_CAPACITY: Final = 4
WIDTH: Final = 5  # of a value in bytes; 0 for a ROW, -1 for texts, -2 for arrays
SLOT_CELLS: Final = 6

Int64Array: TypeAlias = npt.NDArray[np.int64]
_UTF_8 = Charset.named("UTF-8")


@dataclass
class ColumnNode:
    """A column or what is in it, and its slot.

    Attributes:
        slot: its number; -1 for the whole of a record.
        nested: whether it stands in an array or map, and has its own number of entries.
        children: of a ROW its fields, of an ARRAY the element, of a MAP key and value.
    """

    slot: int
    field: pa.Field
    nested: bool
    children: list[ColumnNode] = field(default_factory=list)

    @cached_property
    def width(self) -> int:
        """Bytes of a value; 0 for a ROW, -1 for texts, -2 for arrays and maps."""
        t = self.field.type
        if pt.is_struct(t):
            return 0
        if pt.is_list(t) or pt.is_map(t):
            return -2
        if pt.is_boolean(t):
            return 1
        return -1 if _is_variable_length(t) else int(t.bit_width) // 8


def build_nodes(fields: list[pa.Field], count: int = 0, nested: bool = False) -> tuple[list[ColumnNode], int]:
    """A node for each field, and how many slots there are with those of them."""
    found = []
    for one in fields:
        node = ColumnNode(count, one, nested)
        node.children, count = build_nodes(child_fields(one.type), count + 1, nested or node.width == -2)
        found.append(node)
    return found, count


def child_fields(t: pa.DataType) -> list[pa.Field]:
    """The fields inside a type."""
    if pt.is_struct(t):
        return list(t)
    if pt.is_list(t):
        return [t.value_field]
    return [t.key_field, t.item_field] if pt.is_map(t) else []


class ColumnBuffers:
    """Memory for a number of records, as the kernel wants it."""

    def __init__(
        self, tree: list[ColumnNode], count: int, rows: int, capacity: Int64Array, bytes_capacity: Int64Array
    ) -> None:
        """
        Args:
            rows: entries of slots that are not nested.
            room, bytes_room: entries and bytes for the others.
        """
        self.table = np.zeros((count, SLOT_CELLS), np.int64)  # of the columns VALUES and so on
        self.counts, self.bytes_used, self.nulls = (np.zeros(count, np.int64) for _ in range(3))
        self._memory: dict[int, tuple[npt.NDArray[np.uint8], ...]] = {}
        for node in _walk(tree):
            n = int(capacity[node.slot]) if node.nested else rows
            values = np.empty((n + 1) * max(node.width, 4 if node.width < 0 else 1), np.uint8)
            values[:4] = 0  # the first offset
            valid = np.empty(n, np.uint8)
            data = np.empty(int(bytes_capacity[node.slot]) if node.width == -1 else 0, np.uint8)
            self._memory[node.slot] = (values, valid, data)
            addresses = (a.__array_interface__["data"][0] for a in (values, valid, data))  # at half ctypes' cost
            self.table[node.slot] = (*addresses, n, len(data), node.width)

    def enlarge(self, slot: int, capacity: int, bytes_capacity: int) -> None:
        """Make room for so many entries and bytes; what is there is kept."""
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
        self.table[slot, :5] = values.ctypes.data, valid.ctypes.data, data.ctypes.data, len(valid), len(data)

    def truncate(self, tree: list[ColumnNode], rows: int) -> None:
        """Forget what was filled in behind so many rows."""
        for node in tree:
            self.counts[node.slot] = rows
            within = rows
            if node.width < 0:
                within = int(self.value_bytes(node.slot).view(np.int32)[rows])
            if node.width == -1:
                self.bytes_used[node.slot] = within
            self.truncate(node.children, within)

    def row_indices(self, tree: list[ColumnNode], slot: int, entries: Int64Array) -> Int64Array:
        """Which rows the entries of a slot stand in."""
        while True:
            parent = next((node for node in _walk(tree) if slot in (child.slot for child in node.children)), None)
            if parent is None:
                return entries
            if parent.width == -2:
                offsets = self.value_bytes(parent.slot).view(np.int32)[: self.counts[parent.slot] + 1]
                entries = np.searchsorted(offsets, entries, side="right") - 1
            slot = parent.slot

    def value_bytes(self, slot: int) -> npt.NDArray[np.uint8]:
        """The memory of a slot's values."""
        return self._memory[slot][0]

    def to_arrow(self, node: ColumnNode, is_utf8: bool = False) -> pa.Array:
        """The column of a node.

        Args:
            is_utf8: whether the loop has looked at the texts.
        """
        t, count = node.field.type, int(self.counts[node.slot])
        values, valid, data = self._memory[node.slot]
        validity = None
        if self.nulls[node.slot]:
            validity = pa.py_buffer(np.packbits(valid[:count], bitorder="little"))
        if pt.is_boolean(t):
            bits = pa.py_buffer(np.packbits(values[:count], bitorder="little"))
            return pa.Array.from_buffers(t, count, [validity, bits])
        if node.width > 0:
            if pt.is_decimal(t):
                return self._decimals(node, validity, values, count)
            return pa.Array.from_buffers(t, count, [validity, pa.py_buffer(values[: count * node.width])])
        if node.width == 0:
            return pa.Array.from_buffers(
                t, count, [validity], children=[self.to_arrow(c, is_utf8) for c in node.children]
            )
        offsets = pa.py_buffer(values[: (count + 1) * 4])
        if node.width == -2:
            children = [self.to_arrow(c, is_utf8) for c in node.children]
            if pt.is_map(t):
                children = [pa.StructArray.from_arrays(children, fields=[c.field for c in node.children])]
                return _deduplicate_keys(pa.Array.from_buffers(t, count, [validity, offsets], children=children))
            return pa.Array.from_buffers(t, count, [validity, offsets], children=children)
        used = pa.py_buffer(data[: self.bytes_used[node.slot]])
        binary = pa.Array.from_buffers(pa.binary(), count, [validity, offsets, used])
        if pt.is_binary(t) or pt.is_large_binary(t):
            return binary.cast(t)
        if is_utf8:
            return pa.Array.from_buffers(pa.string(), count, binary.buffers()).cast(t)
        return _to_utf8(binary).cast(t)

    def _decimals(
        self, node: ColumnNode, validity: pa.Buffer | None, values: npt.NDArray[np.uint8], count: int
    ) -> pa.Array:
        """Numbers beyond the precision are null, as in Flink's DecimalData.fromUnscaledBytes."""
        t = node.field.type
        wide = pa.decimal128(38, t.scale)
        array = pa.Array.from_buffers(wide, count, [validity, pa.py_buffer(values[: count * 16])])
        limit = (10**t.precision - 1).to_bytes(16, "little")
        bound = pa.Array.from_buffers(wide, 1, [None, pa.py_buffer(limit)])[0]
        low = pc.negate(bound) if hasattr(pc, "negate") else bound
        fits = pc.and_(pc.less_equal(array, bound), pc.greater_equal(array, low))
        if pc.all(fits).as_py() is False:
            if not node.field.nullable:
                raise OverflowError(node.slot, np.flatnonzero(~fits.fill_null(True).to_numpy(zero_copy_only=False)))
            array = pc.if_else(fits, array, pa.scalar(None, wide))
        buffers = array.buffers()
        return pa.Array.from_buffers(t, count, [buffers[0], buffers[1]], offset=array.offset)


def _resized(old: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    if size <= len(old):
        return old
    new = np.empty(size, np.uint8)
    new[: len(old)] = old
    return new


def _walk(tree: list[ColumnNode]) -> list[ColumnNode]:
    return [node for one in tree for node in (one, *_walk(one.children))]


def _is_variable_length(t: pa.DataType) -> bool:
    return bool(pt.is_string(t) or pt.is_large_string(t) or pt.is_binary(t) or pt.is_large_binary(t))


def _to_utf8(array: pa.BinaryArray) -> pa.StringArray:
    """As text, with U+FFFD for what is malformed, as Java reads it."""
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:
        if len(array) <= 32:
            return pa.array([None if v is None else _UTF_8.decode(v) for v in array.to_pylist()], pa.string())
        middle = len(array) // 2
        return pa.concat_arrays([_to_utf8(array[:middle]), _to_utf8(array[middle:])])


def _deduplicate_keys(array: pa.MapArray) -> pa.MapArray:
    """Maps without repeated keys: the last value counts, in the place of the first."""
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
