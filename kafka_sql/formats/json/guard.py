"""What pyarrow's JSON reader must not be given, because it would take it and Flink would not, or read it otherwise.

The proof that a row of the reader is a payload: a payload that passes starts with ``{`` and ends with ``}`` and a
newline, so between any two stand ``}``, newline, ``{``. No JSON text has those in a row outside a string, and the
reader refuses a newline inside one, so no document reaches over a payload's end, and each payload holds one document or
more. Hence where there are as many rows as payloads, each row is its payload. (A first document that is null would
crash the reader: it is excluded by the ``{``.)
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.formats.json.document import MAX_DEPTH, depth

Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.signedinteger[Any]]

_BEFORE_TOKEN: Final = np.frombuffer(b" \t\r\n:,[-", np.uint8)
_ESCAPE: Final = re.compile(rb"\\.", re.DOTALL)


def provable(data: Bytes, offsets: Offsets) -> bool:
    """Whether the reader's rows of these payloads are Flink's, if it yields as many rows as there are payloads.

    Args:
        data: all bytes that the offsets point into.
        offsets: n + 1 of them for n payloads, each ending in a newline that is not the payload's.
    """
    if (data[offsets[:-1]] != ord("{")).any() or (data[offsets[1:] - 2] != ord("}")).any():
        return False
    text = data[offsets[0] : offsets[-1]]
    # A NUL ends the reader's input. It checks the UTF-8 of declared columns only.
    if not text.min() or not _is_utf8(text):
        return False
    return not _has_non_number(data, offsets) and not _too_deep(data, offsets)


def _is_utf8(text: Bytes) -> bool:
    offsets = pa.py_buffer(np.array([0, len(text)], np.int64))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(text)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _has_non_number(data: Bytes, offsets: Offsets) -> bool:
    """Whether NaN, Inf or Infinity stands outside a string: the reader takes them for numbers."""
    first = int(offsets[0])
    text = data[first : offsets[-1]]
    for token in (b"NaN", b"Inf"):
        at = np.flatnonzero(text == token[0])
        at = at[text[at + 1] == token[1]]  # there is a next one, as the last byte is a newline
        at = at[text[at + 2] == token[2]]
        at = first + at[np.isin(text[at - 1], _BEFORE_TOKEN)]
        starts = offsets[np.searchsorted(offsets, at, side="right") - 1]
        spans = zip(starts.tolist(), at.tolist(), strict=True)
        if any(_outside_string(data[start:end].tobytes()) for start, end in spans):
            return True
    return False


def _outside_string(before: bytes) -> bool:
    """Whether what follows the beginning of a payload is outside a string."""
    return _ESCAPE.sub(b"", before).count(b'"') % 2 == 0


def _too_deep(data: Bytes, offsets: Offsets) -> bool:
    """Whether a payload is nested deeper than Jackson allows; only a long one can be."""
    lengths = np.diff(offsets)
    if lengths.max() <= MAX_DEPTH:
        return False
    text = data[offsets[0] : offsets[-1]]
    opens = np.add.reduceat(((text | 32) == ord("{")).astype(np.int32), offsets[:-1] - offsets[0])
    suspects = np.flatnonzero(opens > MAX_DEPTH).tolist()
    return any(depth(data[offsets[i] : offsets[i + 1]].tobytes()) > MAX_DEPTH for i in suspects)
