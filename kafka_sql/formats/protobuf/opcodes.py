"""What the programs of the compiled loops consist of: tables of whole numbers, made once of a message's descriptor."""

from __future__ import annotations

from typing import Final

# Columns of a field: the fields of a message stand together, by their numbers.
NUMBER: Final = 0
OP: Final = 1
SLOT: Final = 2
A: Final = 3
B: Final = 4
LIST: Final = 5  # the slot of the array that it is an element of, -1 for none
MEMBERS: Final = 6  # where the fields of its oneof begin in the table of members
MEMBER_COUNT: Final = 7
WHOLE: Final = 8  # 1 for a message that is kept as its bytes
FIELD_WIDTH: Final = 9

# What a value is, and how it is kept
SKIPPED: Final = 0  # a field that is no column, but counts: it is required, or of a oneof
VARINT_32: Final = 1
ZIGZAG_32: Final = 2
VARINT_64: Final = 3
ZIGZAG_64: Final = 4
BOOL: Final = 5
UNSIGNED_32: Final = 6  # as BIGINT
UNSIGNED_64: Final = 7  # as DECIMAL(20, 0)
CLOSED_ENUM: Final = 8  # one of B numbers, which begin at A of the constants
FIXED_4: Final = 9
FIXED_4_UNSIGNED: Final = 10
FIXED_8: Final = 11
FIXED_8_UNSIGNED: Final = 12
BYTES: Final = 13
STRING: Final = 14  # bytes that must be UTF-8
MESSAGE: Final = 15  # A is the message

# Wire types
VARINT: Final = 0
EIGHT: Final = 1
LENGTH: Final = 2
GROUP: Final = 3
END_GROUP: Final = 4
FOUR: Final = 5

# Columns of a message
FIRST: Final = 0  # field
COUNT: Final = 1
INIT: Final = 2  # its first instruction of those that make an entry of each of its slots
INIT_COUNT: Final = 3
REQUIRED: Final = 4  # where its required fields begin in the table of members
REQUIRED_COUNT: Final = 5

# Columns of such an instruction: what to do, SLOT at 1, and
INIT_OP: Final = 0
INIT_SLOT: Final = 1
INIT_A: Final = 2
NUMBERS: Final = 0  # a number, whose bits are A
NULL_NUMBER: Final = 1
TEXT: Final = 2  # the A-th place of the texts
NULL_TEXT: Final = 3
EMPTY_LIST: Final = 4  # A is the child's slot
NULL_LIST: Final = 5
ROW: Final = 6
NULL_ROW: Final = 7

# Reasons
TRUNCATED: Final = 1
BAD_NUMBER: Final = 2
BAD_TAG: Final = 3
BAD_UTF_8: Final = 4
LACKS_REQUIRED: Final = 5
ODD: Final = 6  # right, but not as serializers write it
FULL: Final = 10  # a slot has no room for an entry: not the payload's fault
FULL_OF_BYTES: Final = 11
