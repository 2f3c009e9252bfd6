"""The compiled loop that reads messages by a program: no Python object a record."""

from __future__ import annotations

import numpy as np
from numba import types

from kafka_sql.formats.protobuf import opcodes as i
from kafka_sql.formats.protobuf.wire_kernels import (
    BYTES_ROOM,
    DATA,
    ROOM,
    VALID,
    VALUES,
    entries,
    is_utf_8,
    skipped,
    skipped_group,
    uvarint,
)
from kafka_sql.runtime.numba_support import compiled, copy, load, store


@compiled
def run(
    data: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    fields: np.ndarray,
    messages: np.ndarray,
    inits: np.ndarray,
    members: np.ndarray,
    constants: np.ndarray,
    texts: np.ndarray,
    places: np.ndarray,
    slots: np.ndarray,
    counts: np.ndarray,
    used: np.ndarray,
    nulls: np.ndarray,
    depth: int,
    lenient: bool,
    reasons: np.ndarray,
    failure: np.ndarray,
) -> int:
    """Read messages into slots, until one is in error, or to the end.

    Args:
        starts, ends: int64: where the messages stand in ``data``.
        fields, messages, inits, members, constants, texts, places: see instructions.
        slots: int64, n x 6.
        counts, used, nulls: int64, n: entries, bytes and nulls of each slot; zero at first.
        depth: of messages in messages.
        lenient: whether to go on after one in error, of which nothing is kept.
        reasons: uint8: of each message, 0 for one that was read. One that is ODD is never kept.
        failure: int64, 2: the field and the place in the message of the last error, or the slot that is full.

    Returns:
        how many messages were looked at; the one of this index is in error where it is not all.
    """
    data_at = np.int64(data.ctypes.data)
    seen = np.zeros(len(fields), np.int64)  # the message of each field's last value
    frames = np.zeros((depth + 1, 4), np.int64)  # where it ends, message, its mark, the field expected next
    marks = np.zeros((3, len(counts)), np.int64)
    mark = np.int64(0)
    for k in range(len(starts)):
        begin, at, level, reason, full, field = starts[k], starts[k], 0, 0, np.int64(-1), np.int64(-1)
        for s in range(len(counts)):
            marks[0, s], marks[1, s], marks[2, s] = counts[s], used[s], nulls[s]
        message, end = np.int64(0), ends[k]
        mark += 1
        own = mark
        expected = messages[0, i.FIRST]
        if at > end:
            reason = i.TRUNCATED
        else:
            full = entries(
                inits,
                messages[0, i.INIT],
                messages[0, i.INIT_COUNT],
                constants,
                texts,
                places,
                slots,
                counts,
                used,
                nulls,
            )
        while reason == 0 and full < 0:
            if at >= end:
                first = messages[message, i.REQUIRED]
                for j in range(first, first + messages[message, i.REQUIRED_COUNT]):
                    if seen[members[j]] != own:
                        reason, field = i.LACKS_REQUIRED, members[j]
                if level == 0 or reason != 0:
                    break
                level -= 1
                end, message, own, expected = frames[level, 0], frames[level, 1], frames[level, 2], frames[level, 3]
                continue
            tag, at = uvarint(data, at, end)
            if at < 0:
                break
            number, wire = (tag & 0xFFFFFFFF) >> 3, tag & 7
            if number == 0 or wire == i.END_GROUP:
                reason = i.BAD_TAG
                break
            first, last = messages[message, i.FIRST], messages[message, i.FIRST] + messages[message, i.COUNT]
            if expected < last and fields[expected, i.NUMBER] == number:
                field = expected
            else:
                low, high = first, last
                while low < high:
                    middle = (low + high) >> 1
                    if fields[middle, i.NUMBER] < number:
                        low = middle + 1
                    else:
                        high = middle
                field = low if low < last and fields[low, i.NUMBER] == number else np.int64(-1)
            op = i.SKIPPED
            if field >= 0:
                op = fields[field, i.OP]
                repeated = fields[field, i.LIST] >= 0
                expected = field if repeated else field + 1
                if op == i.SKIPPED:
                    right = True
                elif op <= i.CLOSED_ENUM:
                    right = wire == i.VARINT
                elif op <= i.FIXED_4_UNSIGNED:
                    right = wire == i.FOUR
                elif op <= i.FIXED_8_UNSIGNED:
                    right = wire == i.EIGHT
                else:
                    right = wire == i.LENGTH
                packed = repeated and wire == i.LENGTH and op < i.BYTES and op != i.SKIPPED
                if not right and not packed:
                    field = np.int64(-1)  # as an unknown one
                elif fields[field, i.MEMBER_COUNT] > 1:
                    first = fields[field, i.MEMBERS]
                    for j in range(first, first + fields[field, i.MEMBER_COUNT]):
                        if members[j] != field and seen[members[j]] == own:
                            reason = i.ODD
            if field < 0 or op == i.SKIPPED:
                if field >= 0:
                    seen[field] = own
                at = skipped_group(data, at, end, number) if wire == i.GROUP else skipped(data, at, end, wire)
                if at < 0:
                    break
                continue
            if (op == i.MESSAGE or fields[field, i.WHOLE]) and not repeated and seen[field] == own:
                reason = i.ODD  # to be merged
            if op != i.CLOSED_ENUM:
                seen[field] = own
            if reason != 0:
                break
            slot, a, of = fields[field, i.SLOT], fields[field, i.A], fields[field, i.LIST]
            stop = at  # one value
            if op >= i.BYTES or packed:
                length, at = uvarint(data, at, end)
                if at < 0:
                    break
                if length < 0 or length > end - at:
                    at = -1
                    break
                stop = at + length
                if packed and length == 0:
                    continue
            if op == i.MESSAGE:
                if repeated:
                    n = counts[of] - 1
                    full = entries(
                        inits,
                        messages[a, i.INIT],
                        messages[a, i.INIT_COUNT],
                        constants,
                        texts,
                        places,
                        slots,
                        counts,
                        used,
                        nulls,
                    )
                    if full >= 0:
                        break
                    if load(slots[of, VALID] + n, types.uint8) == 0:
                        store(slots[of, VALID] + n, types.uint8(1))
                        nulls[of] -= 1
                    store(slots[of, VALUES] + 4 * n + 4, types.int32(counts[slot]))
                else:
                    n = counts[slot] - 1
                    if load(slots[slot, VALID] + n, types.uint8) == 0:
                        store(slots[slot, VALID] + n, types.uint8(1))
                        nulls[slot] -= 1
                frames[level, 0], frames[level, 1], frames[level, 2], frames[level, 3] = end, message, own, expected
                level += 1
                end, message = stop, a
                mark += 1
                own = mark
                expected = messages[a, i.FIRST]
                continue
            while True:
                bits = np.int64(0)
                if op <= i.CLOSED_ENUM:
                    bits, at = uvarint(data, at, stop if packed else end)
                    if at < 0:
                        break
                    if op == i.CLOSED_ENUM:
                        number, known = np.int64(types.int32(bits)), False
                        for j in range(a, a + fields[field, i.B]):
                            known = known or constants[j] == number
                        if not known:
                            if packed and at < stop:
                                continue
                            break
                        seen[field] = own
                elif op < i.BYTES:
                    size = 4 if op <= i.FIXED_4_UNSIGNED else 8
                    if at + size > (stop if packed else end):
                        at = -1
                        break
                if repeated:
                    n = counts[slot]
                    if n >= slots[slot, ROOM]:
                        full = slot
                        break
                    counts[slot] = n + 1
                    store(slots[slot, VALID] + n, types.uint8(1))
                else:
                    n = counts[slot] - 1
                    if load(slots[slot, VALID] + n, types.uint8) == 0:
                        store(slots[slot, VALID] + n, types.uint8(1))
                        nulls[slot] -= 1
                values = slots[slot, VALUES]
                if op == i.VARINT_32 or op == i.CLOSED_ENUM:
                    store(values + 4 * n, types.int32(bits))
                elif op == i.VARINT_64:
                    store(values + 8 * n, bits)
                elif op == i.ZIGZAG_32:
                    word = bits & 0xFFFFFFFF
                    store(values + 4 * n, types.int32((word >> 1) ^ -(word & 1)))
                elif op == i.ZIGZAG_64:
                    store(values + 8 * n, np.int64(np.uint64(bits) >> np.uint64(1)) ^ -(bits & 1))
                elif op == i.BOOL:
                    store(values + n, types.uint8(bits != 0))
                elif op == i.UNSIGNED_32:
                    store(values + 8 * n, bits & 0xFFFFFFFF)
                elif op == i.UNSIGNED_64:
                    store(values + 16 * n, bits)
                    store(values + 16 * n + 8, np.int64(0))
                elif op == i.FIXED_4:
                    store(values + 4 * n, load(data_at + at, types.int32))
                    at += 4
                elif op == i.FIXED_4_UNSIGNED:
                    store(values + 8 * n, np.int64(load(data_at + at, types.int32)) & 0xFFFFFFFF)
                    at += 4
                elif op == i.FIXED_8:
                    store(values + 8 * n, load(data_at + at, types.int64))
                    at += 8
                elif op == i.FIXED_8_UNSIGNED:
                    store(values + 16 * n, load(data_at + at, types.int64))
                    store(values + 16 * n + 8, np.int64(0))
                    at += 8
                else:
                    if not repeated:
                        used[slot] = np.int64(load(values + 4 * n, types.int32))  # of a repeated field the last counts
                    if op == i.STRING and not is_utf_8(data, at, stop):
                        reason = i.BAD_UTF_8
                        break
                    if used[slot] + stop - at > slots[slot, BYTES_ROOM]:
                        reason, full = i.FULL_OF_BYTES, slot
                        break
                    copy(slots[slot, DATA] + used[slot], data_at + at, stop - at)
                    used[slot] += stop - at
                    store(values + 4 * n + 4, types.int32(used[slot]))
                    at = stop
                if repeated:
                    n = counts[of] - 1
                    if load(slots[of, VALID] + n, types.uint8) == 0:
                        store(slots[of, VALID] + n, types.uint8(1))
                        nulls[of] -= 1
                    store(slots[of, VALUES] + 4 * n + 4, types.int32(counts[slot]))
                if not packed or at >= stop:
                    break
            if at < 0:
                break
        if full >= 0:
            if reason == 0:
                reason = i.FULL if counts[full] >= slots[full, ROOM] else i.FULL_OF_BYTES
            failure[0], failure[1] = reason, full
            return k
        if at < 0 and reason == 0:
            reason = i.TRUNCATED if at == -1 else i.BAD_NUMBER if at == -2 else i.BAD_TAG
        if reason != 0:
            reasons[k] = reason
            for s in range(len(counts)):
                counts[s], used[s], nulls[s] = marks[0, s], marks[1, s], marks[2, s]
            if reason != i.ODD:
                failure[0], failure[1] = field, at - begin
                if not lenient:
                    return k
    return len(starts)
