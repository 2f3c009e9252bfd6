"""The compiled loops of reading: where the records of fetched batches are.

Nothing in a batch is believed that would lead out of it.

Layout: https://kafka.apache.org/documentation/#recordbatch.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.kafka.direct.batch import HEADER
from kafka_sql.runtime.numba_support import compiled, helper, load

# of a batch, where its fields are
_LENGTH, _EPOCH, _MAGIC, _ATTRIBUTES, _LAST = 8, 12, 16, 21, 23
_FIRST_TIME, _LAST_TIME, _PRODUCER, _COUNT = 27, 35, 43, 57
_UNCOUNTED: Final = 12  # bytes that its length does not count
_COMPRESSED, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_CODECS: Final = 4
MIN_RECORD: Final = 7  # bytes of a record
_ABORT: Final = 0

WAITING, ABORTED, ENDED = range(3)  # a transaction that was aborted: how far its batches have been met
DONE, UNSUPPORTED, MALFORMED = range(3)  # all was understood; what follows is of another layout; or damaged

# the columns that ``locate`` fills
COLUMNS: Final = 8
OFFSET, KEY, KEY_SIZE, VALUE, VALUE_SIZE, TIME, TIME_TYPE, LEADER_EPOCH = range(COLUMNS)


@helper
def _int16(at: int) -> int:
    return types.int64(types.int16((load(at, types.uint8) << 8) | load(at + 1, types.uint8)))


@helper
def _int32(at: int) -> int:
    value = types.int64(0)
    for i in range(4):
        value = (value << 8) | types.int64(load(at + i, types.uint8))
    return types.int64(types.int32(value))


@helper
def _int64(at: int) -> int:
    value = types.int64(0)
    for i in range(8):
        value = (value << 8) | types.int64(load(at + i, types.uint8))
    return value


@helper
def _varint(at: int, end: int) -> tuple[int, int]:
    """A VARLONG before ``end``, and the address after it; 0 where it does not end."""
    value, shift = types.uint64(0), types.uint64(0)
    while at < end and shift < types.uint64(64):
        byte = load(at, types.uint8)
        value |= types.uint64(byte & types.uint8(0x7F)) << shift
        at += 1
        if byte < types.uint8(0x80):
            return types.int64(value >> types.uint64(1)) ^ -types.int64(value & types.uint64(1)), at
        shift += types.uint64(7)
    return types.int64(0), 0


@helper
def _data(at: int, end: int) -> tuple[int, int, int]:
    """Bytes that follow their length: where they are, how many, and the address after them; all 0 where they do not end
    before ``end``, and the first for null.
    """
    size, at = _varint(at, end)
    if at == 0 or size > end - at:
        return 0, 0, 0
    if size < 0:
        return 0, -1, at
    return at, size, at + size


# what ``batches`` says of one
AT, SIZE, RECORDS, CODEC = range(4)


@compiled
def find_batches(at: int, end: int, found: np.ndarray) -> tuple[int, int]:
    """The whole batches between two addresses.

    Args:
        found: int64, rows of four: is given each batch's address, size, records and codec, 0 for none.

    Returns:
        how many there are, and DONE, FOREIGN or BROKEN for what follows.
    """
    count = 0
    while at + HEADER <= end:
        size = _int32(at + _LENGTH) + _UNCOUNTED
        if size < HEADER:
            return count, MALFORMED
        if size > end - at:
            break
        codec = _int16(at + _ATTRIBUTES) & _COMPRESSED
        if types.int64(load(at + _MAGIC, types.uint8)) != 2 or codec > _CODECS:
            return count, UNSUPPORTED
        records = _int32(at + _COUNT)
        if records < 0 or _int32(at + _LAST) < 0 or (codec == 0 and records > (size - HEADER) // MIN_RECORD):
            return count, MALFORMED
        found[count, AT], found[count, SIZE] = at, size
        found[count, RECORDS], found[count, CODEC] = records, codec
        count += 1
        at += size
    return count, DONE


@compiled
def next_offset(batch: int) -> int:
    """The offset that follows a batch."""
    return _int64(batch) + _int32(batch + _LAST) + 1


@helper
def _meet(batch: int, end: int, aborted: np.ndarray, states: np.ndarray) -> bool:
    """Whether a batch's records were aborted.

    A producer's batches from the first of its aborted transaction on are, up to the marker that ends it.
    """
    attributes, producer, last = _int16(batch + _ATTRIBUTES), _int64(batch + _PRODUCER), next_offset(batch) - 1
    inside = False
    for i in range(len(aborted)):
        if states[i] == WAITING and aborted[i, 1] <= last:
            states[i] = ABORTED
        if states[i] == ABORTED and aborted[i, 0] == producer:
            inside = True
    if attributes & _CONTROL:
        if _is_abort(batch, end):
            for i in range(len(aborted)):
                if states[i] == ABORTED and aborted[i, 0] == producer:
                    states[i] = ENDED
        return True
    return inside and attributes & _TRANSACTIONAL != 0


@helper
def _is_abort(batch: int, end: int) -> bool:
    """Whether a control batch's record is the marker of an aborted transaction: its key is a version and a type."""
    _, at = _varint(batch + HEADER, end)
    if at == 0:
        return False
    _, at = _varint(at + 1, end)
    if at == 0:
        return False
    _, at = _varint(at, end)
    if at == 0:
        return False
    key, size, at = _data(at, end)
    return at != 0 and size >= 4 and _int16(key + 2) == _ABORT


@compiled
def locate_records(
    found: np.ndarray,
    count: int,
    first: int,
    stop: int,
    aborted: np.ndarray,
    states: np.ndarray,
    columns: np.ndarray,
) -> tuple[int, int, int]:
    """Where the records of batches are.

    Args:
        found, count: what ``batches`` gave; what was compressed is decompressed behind its header.
        first, stop: offsets outside of which records are left out.
        aborted: int64, rows of a producer and the first offset of its transaction; those are left out, too.
        states: uint8, of each of them; kept from one call to the next for the batches of one response.
        columns: int64, a row for each of the constants above, with room for all records; a null's address is 0 and its
            size -1, addresses point into the batches.

    Returns:
        how many records there are, the offset after the last batch that was looked at, and DONE or BROKEN.
    """
    rows, position = 0, first
    for b in range(count):
        batch, end = found[b, AT], found[b, AT] + found[b, SIZE]
        base = _int64(batch)
        if base >= stop:
            return rows, stop, DONE
        if not _meet(batch, end, aborted, states):
            attributes, before = _int16(batch + _ATTRIBUTES), rows
            at, time, epoch = batch + HEADER, _int64(batch + _FIRST_TIME), _int32(batch + _EPOCH)
            appended = attributes & _LOG_APPEND_TIME
            if appended:
                time = _int64(batch + _LAST_TIME)
            for _ in range(_int32(batch + _COUNT)):
                size, at = _varint(at, end)
                if at == 0 or size < MIN_RECORD - 1 or size > end - at:
                    return before, position, MALFORMED
                limit = at + size
                later, at = _varint(at + 1, limit)
                if at == 0:
                    return before, position, MALFORMED
                place, at = _varint(at, limit)
                if at == 0:
                    return before, position, MALFORMED
                key, key_size, at = _data(at, limit)
                if at == 0:
                    return before, position, MALFORMED
                value, value_size, at = _data(at, limit)
                if at == 0:
                    return before, position, MALFORMED
                offset = base + place
                if first <= offset < stop:
                    columns[OFFSET, rows] = offset
                    columns[KEY, rows], columns[KEY_SIZE, rows] = key, key_size
                    columns[VALUE, rows], columns[VALUE_SIZE, rows] = value, value_size
                    columns[TIME, rows] = time if appended else time + later
                    columns[TIME_TYPE, rows] = 2 if appended else 1
                    columns[LEADER_EPOCH, rows] = epoch
                    rows += 1
                at = limit
            if at != end:
                return before, position, MALFORMED
        position = max(position, next_offset(batch))
    return rows, position, DONE
