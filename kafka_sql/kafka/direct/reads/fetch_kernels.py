"""Compiled loops that locate records in fetched batches.

The input is untrusted: no length in a batch leads to a read outside of it.

Layout: https://kafka.apache.org/documentation/#recordbatch.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.kafka.direct.batch_layout import HEADER, UNCOUNTED
from kafka_sql.runtime.numba_support import compiled, helper, load

# positions of the fields of a batch
_LENGTH, _EPOCH, _MAGIC, _ATTRIBUTES, _LAST_OFFSET_DELTA = 8, 12, 16, 21, 23
_FIRST_TIME, _LAST_TIME, _PRODUCER, _COUNT = 27, 35, 43, 57
_COMPRESSED, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_CODECS: Final = 4
MIN_RECORD: Final = 7  # bytes of the smallest record
_ABORT: Final = 0

# states of an aborted transaction while batches are visited: before its first batch, inside, after its abort marker
WAITING, ABORTED, ENDED = range(3)
# status: everything was read; the next batch has an unsupported format; the next batch is damaged
DONE, UNSUPPORTED, MALFORMED = range(3)

# the columns that ``locate_records`` fills; the last two are where the headers of a record start and end
COLUMNS: Final = 8
COLUMNS_WITH_HEADERS: Final = COLUMNS + 2
OFFSET, KEY, KEY_SIZE, VALUE, VALUE_SIZE, TIME, TIME_TYPE, LEADER_EPOCH, HEADERS, END = range(COLUMNS_WITH_HEADERS)
_MIN_HEADER: Final = 2  # bytes of the smallest header
_INCOMPLETE: Final = 1 << 62  # an address


@helper
def _read_int16(address: int) -> int:
    return types.int64(types.int16((load(address, types.uint8) << 8) | load(address + 1, types.uint8)))


@helper
def _read_int32(address: int) -> int:
    value = types.int64(0)
    for i in range(4):
        value = (value << 8) | types.int64(load(address + i, types.uint8))
    return types.int64(types.int32(value))


@helper
def _read_int64(address: int) -> int:
    value = types.int64(0)
    for i in range(8):
        value = (value << 8) | types.int64(load(address + i, types.uint8))
    return value


@helper
def _read_varint(cursor: int, end: int) -> tuple[int, int]:
    """Read a VARLONG before ``end``. Return it and the next address; 0 and ``_INCOMPLETE`` if it is incomplete.

    That is beyond every address, so what is read after it is incomplete, too: one check at the end suffices.
    """
    value, shift = types.uint64(0), types.uint64(0)
    while cursor < end and shift < types.uint64(64):
        byte = load(cursor, types.uint8)
        value |= types.uint64(byte & types.uint8(0x7F)) << shift
        cursor += 1
        if byte < types.uint8(0x80):
            return types.int64(value >> types.uint64(1)) ^ -types.int64(value & types.uint64(1)), cursor
        shift += types.uint64(7)
    return types.int64(0), _INCOMPLETE


@helper
def _read_bytes(cursor: int, end: int) -> tuple[int, int, int]:
    """Read bytes with a length prefix before ``end``. Return their address (0 for null), their size (-1 for null) and
    the next address, ``_INCOMPLETE`` if they are incomplete.
    """
    size, cursor = _read_varint(cursor, end)
    if size > end - cursor:
        return 0, 0, _INCOMPLETE
    if size < 0:
        return 0, -1, cursor
    return cursor, size, cursor + size


# the columns that ``find_batches`` fills
ADDRESS, SIZE, RECORDS, CODEC = range(4)


@compiled
def find_batches(cursor: int, end: int, batches: np.ndarray) -> tuple[int, int]:
    """Find the complete batches between two addresses.

    Args:
        batches: int64, n x 4; receives ADDRESS, SIZE, RECORDS and CODEC (0 for uncompressed) of each batch.

    Returns:
        the number of batches, and DONE, UNSUPPORTED or MALFORMED for what follows them.
    """
    count = 0
    while cursor + HEADER <= end:
        size = _read_int32(cursor + _LENGTH) + UNCOUNTED
        if size < HEADER:
            return count, MALFORMED
        if size > end - cursor:
            break
        codec = _read_int16(cursor + _ATTRIBUTES) & _COMPRESSED
        if types.int64(load(cursor + _MAGIC, types.uint8)) != 2 or codec > _CODECS:
            return count, UNSUPPORTED
        records = _read_int32(cursor + _COUNT)
        if (
            records < 0
            or _read_int32(cursor + _LAST_OFFSET_DELTA) < 0
            or (codec == 0 and records > (size - HEADER) // MIN_RECORD)
        ):
            return count, MALFORMED
        batches[count, ADDRESS], batches[count, SIZE] = cursor, size
        batches[count, RECORDS], batches[count, CODEC] = records, codec
        count += 1
        cursor += size
    return count, DONE


@compiled
def next_offset(batch: int) -> int:
    """Return the offset after the last one of a batch."""
    return _read_int64(batch) + _read_int32(batch + _LAST_OFFSET_DELTA) + 1


@helper
def _visit(batch: int, end: int, aborted: np.ndarray, states: np.ndarray) -> bool:
    """Update the states of aborted transactions with the next batch, and return whether to skip its records.

    Control batches are skipped, and the batches of an aborted transaction: those of its producer from the transaction's
    first offset to its abort marker.
    """
    attributes, producer = _read_int16(batch + _ATTRIBUTES), _read_int64(batch + _PRODUCER)
    last = next_offset(batch) - 1
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
    """Return whether a control batch is the marker of an aborted transaction. The key of its record is a version and a
    type.
    """
    _, cursor = _read_varint(batch + HEADER, end)
    _, cursor = _read_varint(cursor + 1, end)
    _, cursor = _read_varint(cursor, end)
    key, size, _ = _read_bytes(cursor, end)
    return size >= 4 and _read_int16(key + 2) == _ABORT


@compiled
def locate_records(
    batches: np.ndarray,
    count: int,
    first: int,
    stop: int,
    aborted: np.ndarray,
    states: np.ndarray,
    columns: np.ndarray,
    headers: np.ndarray | None,
) -> tuple[int, int, int]:
    """Locate the records of batches.

    Args:
        batches, count: the results of ``find_batches``. The records must be uncompressed.
        first, stop: records with offsets outside of this range are skipped.
        aborted: int64, n x 2: producer id and first offset of aborted transactions, whose records are skipped.
        states: uint8, n: their states; zeros for the first batches of a response, then passed on from call to call.
        columns: int64, COLUMNS x capacity; receives the first columns defined above. Addresses point into the batches;
            a null has address 0 and size -1.
        headers: int64, 2 x capacity; receives the last two columns. None if they are not needed: numba compiles a loop
            without them.

    Returns:
        the number of records, the offset after the last visited batch, and DONE or MALFORMED.
    """
    rows, position = 0, first
    for i_batch in range(count):
        batch, end = batches[i_batch, ADDRESS], batches[i_batch, ADDRESS] + batches[i_batch, SIZE]
        base = _read_int64(batch)
        if base >= stop:
            return rows, stop, DONE
        if not _visit(batch, end, aborted, states):
            attributes, rows_before = _read_int16(batch + _ATTRIBUTES), rows
            cursor, timestamp, epoch = batch + HEADER, _read_int64(batch + _FIRST_TIME), _read_int32(batch + _EPOCH)
            is_log_append_time = attributes & _LOG_APPEND_TIME
            if is_log_append_time:
                timestamp = _read_int64(batch + _LAST_TIME)
            for _ in range(_read_int32(batch + _COUNT)):
                size, cursor = _read_varint(cursor, end)
                if size < MIN_RECORD - 1 or size > end - cursor:
                    return rows_before, position, MALFORMED
                record_end = cursor + size
                time_delta, cursor = _read_varint(cursor + 1, record_end)
                offset_delta, cursor = _read_varint(cursor, record_end)
                key, key_size, cursor = _read_bytes(cursor, record_end)
                value, value_size, cursor = _read_bytes(cursor, record_end)
                if cursor == _INCOMPLETE:
                    return rows_before, position, MALFORMED
                offset = base + offset_delta
                if first <= offset < stop:
                    columns[OFFSET, rows] = offset
                    columns[KEY, rows], columns[KEY_SIZE, rows] = key, key_size
                    columns[VALUE, rows], columns[VALUE_SIZE, rows] = value, value_size
                    columns[TIME, rows] = timestamp if is_log_append_time else timestamp + time_delta
                    columns[TIME_TYPE, rows] = 2 if is_log_append_time else 1
                    columns[LEADER_EPOCH, rows] = epoch
                    if headers is not None:
                        headers[0, rows], headers[1, rows] = cursor, record_end
                    rows += 1
                cursor = record_end
            if cursor != end:
                return rows_before, position, MALFORMED
        position = max(position, next_offset(batch))
    return rows, position, DONE


@compiled
def count_headers(starts: np.ndarray, ends: np.ndarray, header_offsets: np.ndarray) -> int:
    """Check the headers of records, and count them.

    Args:
        starts, ends: int64: addresses where the headers of each record start and end.
        header_offsets: int32, one longer, filled: Arrow's offsets of each record's headers.

    Returns:
        DONE or MALFORMED.
    """
    total = 0
    for row in range(len(starts)):
        header_offsets[row] = total
        count, cursor = _read_varint(starts[row], ends[row])
        if count < 0 or count > (ends[row] - cursor) // _MIN_HEADER:
            return MALFORMED
        for _ in range(count):
            _, name_size, cursor = _read_bytes(cursor, ends[row])
            _, _, cursor = _read_bytes(cursor, ends[row])
            if name_size < 0:
                return MALFORMED
        if cursor != ends[row]:
            return MALFORMED
        total += count
    header_offsets[len(starts)] = total
    return DONE


@compiled
def locate_headers(starts: np.ndarray, ends: np.ndarray, header_offsets: np.ndarray, headers: np.ndarray) -> None:
    """Locate the names and values of headers that ``count_headers`` has checked.

    Args:
        starts, ends, header_offsets: as in ``count_headers``.
        headers: int64, 4 x total, filled: addresses and sizes of the names and of the values. A null value has address
            0 and size -1.
    """
    for row in range(len(starts)):
        _, cursor = _read_varint(starts[row], ends[row])
        for i in range(header_offsets[row], header_offsets[row + 1]):
            headers[0, i], headers[1, i], cursor = _read_bytes(cursor, ends[row])
            headers[2, i], headers[3, i], cursor = _read_bytes(cursor, ends[row])
