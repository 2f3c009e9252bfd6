"""Compiled loops on the slots that a program fills: numbers, nulls, and the way back."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.formats.columnar import column_buffers as s
from kafka_sql.formats.columnar import decode_plan as p
from kafka_sql.formats.columnar import scalar_kernels
from kafka_sql.runtime.numba_support import helper, load, store

# What a loop tells of itself
ROW_COUNT: Final = 0  # how many payloads became rows
DEFERRED_FLOATS: Final = 1  # how many numbers are yet to be read
FULL_SLOT: Final = 2  # a slot without room for an entry, or -1; the first that there is not for the numbers
FULL_BYTES_SLOT: Final = 3  # or for its bytes
STATE_CELLS: Final = 4
# What became of a number
REJECTED: Final = 0
STORED: Final = 1
INEXACT: Final = 2  # it is no number for which a loop can be sure how it is rounded


# An array's elements by address: numba would ask of each index whether it counts from the end, and of each stride.


@helper
def load_int64(array: int, index: int) -> int:
    """An element of an array of int64."""
    return load(array + 8 * index, types.int64)


@helper
def store_int64(array: int, index: int, value: int) -> None:
    """Write an element of an array of int64."""
    store(array + 8 * index, types.int64(value))


@helper
def plan_cell(program: int, slot: int, column: int) -> int:
    """A number of a slot's row in the program."""
    return load(program + 8 * (p.PLAN_CELLS * slot + column), types.int64)


@helper
def slot_cell(slots: int, slot: int, column: int) -> int:
    """A number of a slot's row."""
    return load(slots + 8 * (s.SLOT_CELLS * slot + column), types.int64)


@helper
def name_cell(names: int, row: int, column: int) -> int:
    """A number of a name's row in the program."""
    return load(names + 8 * (p.NAME_CELLS * row + column), types.int64)


@helper
def store_number(row: int, values: int, n: int, mantissa: int, exponent: int, flags: int) -> int:
    """Write a number that was read from text: NOT where the column cannot hold it, UNSURE where it is yet to be read.

    Args:
        row: address of the slot's row in the program.
        values: address of the slot's values, n: which is written.
    """
    kind, sure = load(row + 8 * p.TYPE, types.int64), True
    if kind <= p.INT64:
        whole, value = scalar_kernels.to_int64(mantissa, flags)
        if (
            not whole
            or value < load(row + 8 * p.MIN_VALUE, types.int64)
            or value > load(row + 8 * p.MAX_VALUE, types.int64)
        ):
            return REJECTED
        if kind == p.INT64:
            store(values + 8 * n, value)
        elif kind == p.INT32:
            store(values + 4 * n, types.int32(value))
        elif kind == p.INT16:
            store(values + 2 * n, types.int16(value))
        else:
            store(values + n, types.int8(value))
    elif kind == p.DOUBLE:
        sure, real = scalar_kernels.to_float64(mantissa, exponent, flags)
        store(values + 8 * n, real)
    elif kind == p.FLOAT:
        sure, short = scalar_kernels.to_float32(mantissa, exponent, flags)
        store(values + 4 * n, types.float32(short))
    elif not scalar_kernels.store_decimal(
        values + 16 * n,
        mantissa,
        exponent,
        flags,
        load(row + 8 * p.SCALE, types.int64),
        load(row + 8 * p.MIN_VALUE, types.int64),
        load(row + 8 * p.MAX_VALUE, types.int64),
    ):
        return REJECTED
    return STORED if sure else INEXACT


@helper
def append_null(
    program: np.ndarray, slots: np.ndarray, counts: np.ndarray, used: np.ndarray, nulls: np.ndarray, slot: int
) -> int:
    """Append null to a slot and what is within it; the slot that is full, or -1."""
    at, end = slot, program[slot, p.END_SLOT]
    while at < end:
        n, values, width = counts[at], slots[at, s.VALUES], slots[at, s.WIDTH]
        if n >= slots[at, s.CAPACITY]:
            return at
        store(slots[at, s.VALID] + n, types.uint8(0))
        counts[at] = n + 1
        nulls[at] = 1
        if width == -1:
            store(values + 4 * n + 4, types.int32(used[at]))
        elif width == -2:
            store(values + 4 * n + 4, types.int32(counts[program[at, p.CHILD_SLOT]]))
        elif width == 1:
            store(values + n, types.uint8(0))
        elif width == 2:
            store(values + 2 * n, types.int16(0))
        elif width == 4:
            store(values + 4 * n, types.int32(0))
        elif width >= 8:
            store(values + width * n, np.int64(0))
            store(values + width * (n + 1) - 8, np.int64(0))
        at = at + 1 if width == 0 else program[at, p.END]
    return -1


@helper
def rollback(program: np.ndarray, slots: np.ndarray, counts: np.ndarray, used: np.ndarray, rows: int) -> None:
    """Forget what was appended behind so many rows."""
    root = len(counts)
    for slot in range(root):
        parent = program[slot, p.PARENT_SLOT]
        if parent == root:
            count = rows
        elif program[parent, p.TYPE] == p.ROW:
            count = counts[parent]
        else:
            count = types.int64(load(slots[parent, s.VALUES] + 4 * counts[parent], types.int32))
        counts[slot] = count
        if slots[slot, s.WIDTH] == -1:
            used[slot] = types.int64(load(slots[slot, s.VALUES] + 4 * count, types.int32))
