"""Compiled loops over the headers of fetched messages: no Python object per record or header."""

from __future__ import annotations

import numpy as np
from numba import types

from kafka_sql.kafka.bindings import NO_HEADERS
from kafka_sql.kafka.librdkafka.native_calls import call, call5, compiled, load


@compiled
def count_headers(
    messages: np.ndarray,
    start: int,
    end: int,
    headers_of: int,
    count_of: int,
    lists: np.ndarray,
    positions: np.ndarray,
) -> tuple[int, int]:
    """Find the headers of messages[start:end].

    Args:
        headers_of, count_of: addresses of rd_kafka_message_headers and rd_kafka_header_cnt.
        lists: int64, end - start: librdkafka's list of each message's headers, 0 for none.
        positions: int32, end - start + 1: Arrow's offsets.

    Returns:
        the message whose headers cannot be read (``end`` if all can) and librdkafka's error code.
    """
    found = np.zeros(1, np.int64)
    position = 0
    for i in range(start, end):
        positions[i - start] = position
        lists[i - start] = 0
        code = types.int32(call(headers_of, messages[i], found.ctypes.data, 0))
        if code == 0:
            lists[i - start] = found[0]
            position += call(count_of, found[0], 0, 0)
        elif code != NO_HEADERS:
            return i, code
    positions[end - start] = position
    return end, 0


@compiled
def locate_headers(
    lists: np.ndarray, positions: np.ndarray, get_all: int, names: np.ndarray, values: np.ndarray, sizes: np.ndarray
) -> None:
    """Where each header's name and value are.

    Args:
        get_all: address of rd_kafka_header_get_all.
        names, values: int64: addresses; that of a null value is 0.
        sizes: int64, 2 rows: lengths of the names and of the values.
    """
    found = np.zeros(3, np.int64)
    at = found.ctypes.data
    for row in range(len(lists)):
        for i in range(positions[row], positions[row + 1]):
            call5(get_all, lists[row], types.int64(i - positions[row]), at, at + 8, at + 16)
            name, length = found[0], 0
            while load(name + length, types.uint8) != 0:
                length += 1
            names[i], values[i] = name, found[1]
            sizes[0, i], sizes[1, i] = length, found[2]


@compiled
def last_of_name(lists: np.ndarray, positions: np.ndarray, names: np.ndarray, last: np.ndarray) -> int:
    """Mark the headers that no later header of the same record and name replaces.

    Args:
        lists: int32: positions of each record's headers.
        positions, names: int32 offsets and uint8 bytes of the names.
        last: uint8: 1 for a header that stays.

    Returns:
        how many do not stay.
    """
    replaced = 0
    for row in range(len(lists) - 1):
        for i in range(lists[row], lists[row + 1]):
            last[i] = 1
            size = positions[i + 1] - positions[i]
            for k in range(i + 1, lists[row + 1]):
                same = positions[k + 1] - positions[k] == size
                place = 0
                while same and place < size:
                    same = names[positions[i] + place] == names[positions[k] + place]
                    place += 1
                if same:
                    last[i] = 0
                    replaced += 1
                    break
    return replaced
