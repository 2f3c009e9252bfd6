"""What the programs of the compiled loops consist of: one row of six numbers an instruction, and a slot for each array.

A schema becomes a program once. Reading it looks at payloads, writing it at arrays.
"""

from __future__ import annotations

from typing import Final

# Columns of an instruction. SLOT is the array that is appended to, or read from.
OP: Final = 0
SLOT: Final = 1
A: Final = 2
B: Final = 3
C: Final = 4

# Reading: a value of the payload into a slot.
INT: Final = 1  # an int as INT or DATE
BYTE: Final = 2  # as TINYINT, cut off as Java does
SHORT: Final = 3  # as SMALLINT
LONG: Final = 4  # an int or long as BIGINT; A is 1 for an int
SCALED: Final = 5  # times A, or divided by -A; B is 1 for an int
TIME: Final = 6  # the same, of a day; C is the first that is none
LONG_TO_FLOAT: Final = 7
LONG_TO_DOUBLE: Final = 8
FLOAT: Final = 9
FLOAT_TO_DOUBLE: Final = 10
DOUBLE: Final = 11
BOOLEAN: Final = 12
BYTES: Final = 13  # with a length before it
FIXED: Final = 14  # of A bytes
ENUM: Final = 15  # A symbols, whose places stand at B of the constants' table
DECIMAL: Final = 16  # with a length before it; C is 1 where null is allowed
DECIMAL_FIXED: Final = 17  # of A bytes
NULL: Final = 18
PRESENT: Final = 19  # a ROW, whose fields follow
CONSTANT: Final = 20  # a number, whose bits are A
TEXT: Final = 21  # the A-th place of the constants' table
# Without a slot
UNION: Final = 30  # A branches, which begin at B of the jumps
JUMP: Final = 31  # to A
ARRAY: Final = 32  # SLOT is -1 where it is skipped; A child's slot, B where it ends, C its depth
NEXT: Final = 33  # the element's end: A where the elements' body begins, the rest as in ARRAY
EMPTY: Final = 34  # an empty array
SKIP_NUMBER: Final = 40
SKIP_BYTES: Final = 41
SKIP_FIXED: Final = 42  # A bytes
SKIP_BLOCKS: Final = 43  # an array of elements without bytes
FAIL: Final = 50  # A is the reason's index
END: Final = 51

# Columns of a slot when reading
VALUES: Final = 0  # address of values, or of int32 offsets
VALID: Final = 1  # address of a byte for each
DATA: Final = 2  # address of what the offsets point into
ROOM: Final = 3  # entries
BYTES_ROOM: Final = 4
WIDTH: Final = 5  # of a value in bytes; 0 for a ROW, -1 for texts, -2 for arrays

# Reasons
TRUNCATED: Final = 1
BAD_NUMBER: Final = 2
BAD_LENGTH: Final = 3
BAD_BRANCH: Final = 4
BAD_SYMBOL: Final = 5
BAD_TIME: Final = 6
BAD_DECIMAL: Final = 7
TOO_LARGE: Final = 8
FAILED: Final = 9
FULL: Final = 10  # a slot has no room for an entry: not the payload's fault
FULL_OF_BYTES: Final = 11  # nor for its bytes
