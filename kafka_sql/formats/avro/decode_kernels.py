"""The compiled loop that carries out a reading program on payloads: no Python object a record."""

from __future__ import annotations

import numpy as np
from numba import types

from kafka_sql.formats.avro import opcodes as i
from kafka_sql.runtime.numba_support import compiled, copy, load, store


@compiled
def varint(data: np.ndarray, at: int, end: int, longest: int) -> tuple[int, int]:
    """A zigzag number of at most ``longest`` bytes, and where it ends; -1 where the payload ends, -2 for too long."""
    if at >= end:
        return 0, -1
    b = np.uint64(data[at])
    bits = b & np.uint64(0x7F)
    shift = np.uint64(7)
    at += 1
    left = longest - 1
    while b & np.uint64(0x80):
        if left == 0:
            return 0, -2
        if at >= end:
            return 0, -1
        b = np.uint64(data[at])
        bits |= (b & np.uint64(0x7F)) << shift
        shift += np.uint64(7)
        at += 1
        left -= 1
    if longest == 5:
        bits &= np.uint64(0xFFFFFFFF)
    return np.int64(bits >> np.uint64(1)) ^ -np.int64(bits & np.uint64(1)), at


@compiled
def run(
    data: np.ndarray,
    positions: np.ndarray,
    rows: np.ndarray,
    start: int,
    header: int,
    program: np.ndarray,
    jumps: np.ndarray,
    texts: np.ndarray,
    places: np.ndarray,
    slots: np.ndarray,
    counts: np.ndarray,
    used: np.ndarray,
    nulls: np.ndarray,
    depth: int,
    failure: np.ndarray,
) -> int:
    """Read payloads into slots, until one is in error.

    Args:
        positions: int32: where the payloads stand in ``data``.
        rows: int64: which of them to read, from the index ``start`` on.
        header: bytes to leave out at the beginning of each.
        program, jumps: see instructions.
        texts: uint8: texts and bytes that no payload has, at ``places`` (int64, n x 2).
        slots: int64, n x 6.
        counts, used, nulls: int64, n: entries, bytes and nulls of each slot; those of the rows before ``start``.
        depth: of arrays in arrays.
        failure: int64, 3: reason, instruction and position in the payload, or for a FULL one the slot.

    Returns:
        how far it got: the one of this index is in error where it is not the end of ``rows``.
    """
    remaining = np.zeros(depth + 1, np.int64)
    bytes_at, texts_at = np.int64(data.ctypes.data), np.int64(texts.ctypes.data)  # unsigned, they would make floats
    for k in range(start, len(rows)):
        row = rows[k]
        begin, end = np.int64(positions[row]), np.int64(positions[row + 1])
        at, pc, reason, full = begin + header, 0, 0, 0
        if at > end:
            reason = i.TRUNCATED
        while reason == 0:
            op, slot, a = program[pc, i.OP], program[pc, i.SLOT], program[pc, i.A]
            pc += 1
            if op < 30:
                n = counts[slot]
                if n >= slots[slot, i.ROOM]:
                    reason, full = i.FULL, slot
                    break
                counts[slot] = n + 1
                values = slots[slot, i.VALUES]
                store(slots[slot, i.VALID] + n, types.uint8(op != i.NULL))
                if op <= i.SHORT:
                    value, at = varint(data, at, end, 5)
                    if op == i.INT:
                        store(values + 4 * n, types.int32(value))
                    elif op == i.BYTE:
                        store(values + n, types.int8(value))
                    else:
                        store(values + 2 * n, types.int16(value))
                elif op == i.LONG:
                    value, at = varint(data, at, end, 5 if a == 1 else 10)
                    store(values + 8 * n, value)
                elif op <= i.TIME:
                    value, at = varint(data, at, end, 5 if program[pc - 1, i.B] == 1 else 10)
                    scaled = value * a if a > 0 else value // -a
                    if a > 0 and scaled // a != value:
                        reason = i.TOO_LARGE
                    if op == i.TIME and at >= 0 and (scaled < 0 or scaled >= program[pc - 1, i.C]):
                        reason = i.BAD_TIME
                    store(values + 8 * n, scaled)
                elif op <= i.LONG_TO_DOUBLE:
                    value, at = varint(data, at, end, 5 if a == 1 else 10)
                    if op == i.LONG_TO_FLOAT:
                        store(values + 4 * n, types.float32(value))
                    else:
                        store(values + 8 * n, types.float64(value))
                elif op <= i.FLOAT_TO_DOUBLE:
                    if at + 4 > end:
                        at = -1
                    else:
                        word = load(bytes_at + at, types.float32)
                        if op == i.FLOAT:
                            store(values + 4 * n, word)
                        else:
                            store(values + 8 * n, types.float64(word))
                        at += 4
                elif op == i.DOUBLE:
                    if at + 8 > end:
                        at = -1
                    else:
                        store(values + 8 * n, load(bytes_at + at, types.int64))
                        at += 8
                elif op == i.BOOLEAN:
                    if at >= end:
                        at = -1
                    else:
                        store(values + n, types.uint8(data[at] == 1))
                        at += 1
                elif op <= i.ENUM or op == i.TEXT:
                    source, length = bytes_at, np.int64(0)
                    if op == i.BYTES:
                        length, at = varint(data, at, end, 10)
                        source += at
                    elif op == i.FIXED:
                        length = a
                        source += at
                    else:
                        place = a
                        if op == i.ENUM:
                            symbol, at = varint(data, at, end, 5)
                            if at >= 0 and (symbol < 0 or symbol >= a or places[program[pc - 1, i.B] + symbol, 1] < 0):
                                reason = i.BAD_SYMBOL
                                break
                            place = program[pc - 1, i.B] + symbol
                        if at >= 0:
                            source, length = texts_at + places[place, 0], places[place, 1]
                    if at >= 0:
                        if length < 0:
                            reason = i.BAD_LENGTH
                        elif op <= i.FIXED and length > end - at:
                            reason = i.TRUNCATED
                        elif used[slot] + length > slots[slot, i.BYTES_ROOM]:
                            reason, full = i.FULL_OF_BYTES, slot
                        else:
                            copy(slots[slot, i.DATA] + used[slot], source, length)
                            used[slot] += length
                            store(values + 4 * n + 4, types.int32(used[slot]))
                            if op <= i.FIXED:
                                at += length
                elif op <= i.DECIMAL_FIXED:
                    length = a
                    if op == i.DECIMAL:
                        length, at = varint(data, at, end, 10)
                    if at >= 0:
                        if length < 0:
                            reason = i.BAD_LENGTH
                        elif length > end - at:
                            reason = i.TRUNCATED
                        elif length == 0:
                            reason = i.BAD_DECIMAL
                        else:
                            sign = np.int64(-1) if data[at] >= 128 else np.int64(0)
                            high, low, lost = sign, sign, False
                            for j in range(length):
                                lost = lost or (length - j > 16 and data[at + j] != sign & 0xFF)
                                high = (high << 8) | ((low >> 56) & 0xFF)
                                low = (low << 8) | np.int64(data[at + j])
                            at += length
                            if lost or (high < 0) != (sign < 0):
                                if program[pc - 1, i.C] == 0:
                                    reason = i.TOO_LARGE
                                nulls[slot] += 1
                                store(slots[slot, i.VALID] + n, types.uint8(0))
                            store(values + 16 * n, low)
                            store(values + 16 * n + 8, high)
                elif op == i.NULL:
                    nulls[slot] += 1
                    width = slots[slot, i.WIDTH]
                    if width == -1:
                        store(values + 4 * n + 4, types.int32(used[slot]))
                    elif width == -2:
                        store(values + 4 * n + 4, types.int32(counts[a]))
                    elif width == 4:
                        store(values + 4 * n, types.int32(0))
                    elif width == 8:
                        store(values + 8 * n, np.int64(0))
                    elif width == 16:
                        store(values + 16 * n, np.int64(0))
                        store(values + 16 * n + 8, np.int64(0))
                    elif width == 1:
                        store(values + n, types.uint8(0))
                    elif width == 2:
                        store(values + 2 * n, types.int16(0))
                elif op == i.CONSTANT:
                    width = slots[slot, i.WIDTH]
                    if width == 1:
                        store(values + n, types.int8(a))
                    elif width == 2:
                        store(values + 2 * n, types.int16(a))
                    elif width == 4:
                        store(values + 4 * n, types.int32(a))
                    else:
                        store(values + 8 * n, a)
                # PRESENT is in the validity alone
            elif op == i.UNION:
                branch, at = varint(data, at, end, 5)
                if at >= 0:
                    if branch < 0 or branch >= a:
                        reason = i.BAD_BRANCH
                    else:
                        pc = jumps[program[pc - 1, i.B] + branch]
            elif op == i.JUMP:
                pc = a
            elif op == i.ARRAY or op == i.NEXT:
                level = program[pc - 1, i.C]
                body = pc if op == i.ARRAY else a
                left = np.int64(0) if op == i.ARRAY else remaining[level] - 1
                if left == 0:
                    left, at = varint(data, at, end, 10)
                    if at >= 0 and left < 0:
                        left = -left
                        _, at = varint(data, at, end, 10)
                if at >= 0:
                    if left == 0:
                        if slot >= 0:
                            child = program[body - 1, i.A]
                            n = counts[slot]
                            if n >= slots[slot, i.ROOM]:
                                reason, full = i.FULL, slot
                            else:
                                store(slots[slot, i.VALID] + n, types.uint8(1))
                                store(slots[slot, i.VALUES] + 4 * n + 4, types.int32(counts[child]))
                                counts[slot] = n + 1
                        pc = program[pc - 1, i.B]
                    elif left < 0 or left > end - at:  # every element has a byte at least
                        reason = i.TRUNCATED
                    else:
                        remaining[level] = left
                        pc = body
            elif op == i.EMPTY:
                n = counts[slot]
                if n >= slots[slot, i.ROOM]:
                    reason, full = i.FULL, slot
                else:
                    store(slots[slot, i.VALID] + n, types.uint8(1))
                    store(slots[slot, i.VALUES] + 4 * n + 4, types.int32(counts[a]))
                    counts[slot] = n + 1
            elif op == i.SKIP_NUMBER:
                _, at = varint(data, at, end, 10)
            elif op == i.SKIP_BYTES:
                length, at = varint(data, at, end, 10)
                if at >= 0:
                    if length < 0:
                        reason = i.BAD_LENGTH
                    elif length > end - at:
                        reason = i.TRUNCATED
                    at += length
            elif op == i.SKIP_FIXED:
                at = at + a if a <= end - at else -1
            elif op == i.SKIP_BLOCKS:
                left, at = varint(data, at, end, 10)
                while left != 0 and at >= 0:
                    if left < 0:
                        _, at = varint(data, at, end, 10)
                    if at >= 0:
                        left, at = varint(data, at, end, 10)
            elif op == i.FAIL:
                reason = i.FAILED
            else:
                break
            if at < 0:
                reason = i.TRUNCATED if at == -1 else i.BAD_NUMBER
        if reason != 0:
            failure[0], failure[1], failure[2] = reason, pc - 1, full if reason >= i.FULL else at - begin
            return k
    return len(rows)
