"""Define the cells, opcodes and failures of a decode plan, whose tables of int64 the decode loop reads."""

from __future__ import annotations

from typing import Final

# Cells of a field. The fields of a message are adjacent, ordered by number.
NUMBER: Final = 0
OPCODE: Final = 1
SLOT: Final = 2  # of the column buffers
A: Final = 3  # operands, whose meaning depends on the opcode
B: Final = 4
LIST_SLOT: Final = 5  # of the array that the slot is the element of; -1 if the field is not repeated
ONEOF: Final = 6  # number of its oneof; -1 if it is not in one with several fields
IN_MAP: Final = 7  # 1 if it is the value of a map's entry
IS_SERIALIZED: Final = 8  # 1 if the slot holds a message's bytes
WIRE_TYPE: Final = 9  # of its values; -1 for any
FIELD_CELLS: Final = 10

# Opcodes of a field: how its values are decoded
UNMAPPED: Final = 0  # no column, but needed: the field is required or in a oneof
VARINT_32: Final = 1
ZIGZAG_32: Final = 2
VARINT_64: Final = 3
ZIGZAG_64: Final = 4
BOOL: Final = 5
UNSIGNED_32: Final = 6  # as BIGINT
UNSIGNED_64: Final = 7  # as DECIMAL(20, 0)
CLOSED_ENUM: Final = 8  # one of B numbers, which start at A of the constants
FIXED_4: Final = 9
FIXED_4_UNSIGNED: Final = 10
FIXED_8: Final = 11
FIXED_8_UNSIGNED: Final = 12
BYTES: Final = 13
STRING: Final = 14  # must be UTF-8
MESSAGE: Final = 15  # message number A

# Wire types
VARINT: Final = 0
I64: Final = 1
LEN: Final = 2
SGROUP: Final = 3
EGROUP: Final = 4
I32: Final = 5

# Cells of a message
FIRST_FIELD: Final = 0
FIELD_COUNT: Final = 1
FIRST_DEFAULT: Final = 2  # of the defaults that are appended when the message starts, one per slot
DEFAULT_COUNT: Final = 3
REQUIRED: Final = 4  # where its required fields start in the table field_indices
REQUIRED_COUNT: Final = 5
ENTRY_VALUE: Final = 6  # of a map's entry whose value is a closed enum: the value's field; -1 of other messages
ENTRY_LIST: Final = 7  # the map's slot
MESSAGE_CELLS: Final = 8

# Cells of a default
DEFAULT_OPCODE: Final = 0
DEFAULT_SLOT: Final = 1
DEFAULT_A: Final = 2
DEFAULT_CELLS: Final = 3

# Opcodes of a default; the odd ones append null
NUMBER_DEFAULT: Final = 0  # the constant A
NUMBER_NULL: Final = 1
BYTES_DEFAULT: Final = 2  # the literal A
BYTES_NULL: Final = 3
LIST_DEFAULT: Final = 4  # empty; A is the element's slot
LIST_NULL: Final = 5
ROW_DEFAULT: Final = 6
ROW_NULL: Final = 7

# Failures
TRUNCATED: Final = 1
BAD_NUMBER: Final = 2
BAD_TAG: Final = 3
BAD_UTF_8: Final = 4
LACKS_REQUIRED: Final = 5
NOT_CANONICAL: Final = 6  # valid, but not as serializers write it: serialized again, then decoded
FULL: Final = 10  # a slot lacks capacity for another entry; the message is not at fault
FULL_OF_BYTES: Final = 11  # a slot lacks capacity for an entry's bytes
