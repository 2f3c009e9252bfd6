"""Define the operations of a decode plan: rows of int64 cells that the decode loop carries out in order.

A writer's schema is compiled into a plan once; the loop then looks at payloads only.
"""

from __future__ import annotations

from typing import Final

# Cells of an operation
OPCODE: Final = 0
SLOT: Final = 1  # of the column buffers, to append to; -1 if there is none
A: Final = 2  # operands, whose meaning depends on the opcode
B: Final = 3
C: Final = 4
OPERATION_CELLS: Final = 5

INT_SIZE: Final = 5  # bytes of the longest int
LONG_SIZE: Final = 10

# Append a value of the payload to a slot
INTEGER: Final = 1  # int or long of at most A bytes, truncated to the column's width as in Java
SCALED: Final = 2  # like INTEGER, times B, or divided by -B if B is negative
TIME: Final = 3  # like SCALED; the result must be at least 0 and less than C
INTEGER_TO_FLOAT: Final = 4
INTEGER_TO_DOUBLE: Final = 5
FLOAT: Final = 9
FLOAT_TO_DOUBLE: Final = 10
DOUBLE: Final = 11
BOOLEAN: Final = 12
BYTES: Final = 13  # length and bytes
FIXED: Final = 14  # A bytes
ENUM: Final = 15  # one of A symbols, whose literals start at B
DECIMAL: Final = 16  # length and bytes; C is 1 if null is allowed
DECIMAL_FIXED: Final = 17  # A bytes
# Append without reading
NULL: Final = 18  # A is the element's slot if the slot is a list
NOT_NULL: Final = 19  # a ROW; the operations of its fields follow
CONSTANT: Final = 20  # the number with the bits A, and of a decimal with the upper bits B
LITERAL: Final = 21  # literal number A
# Control flow
UNION: Final = 30  # A branches, whose operations are listed at B of the jumps
JUMP: Final = 31  # to operation A
ARRAY: Final = 32  # A is the element's slot, B the operation after the array, C its cell; the body follows
NEXT: Final = 33  # end of the body, which starts at operation A; B and C as in ARRAY
END_LIST: Final = 34  # append a list of the elements that have been appended; A is the element's slot
CALL: Final = 35  # the subroutine that starts at operation A; continues at operation B; C is the subroutine's cell
RETURN: Final = 36  # from the subroutine with cell C
# Skip a value
SKIP_NUMBER: Final = 40
SKIP_BYTES: Final = 41
SKIP_FIXED: Final = 42  # A bytes
SKIP_BLOCKS: Final = 43  # an array whose elements take no bytes
FAIL: Final = 50  # A is the index of the reason
END: Final = 51

# Failures
TRUNCATED: Final = 1
BAD_NUMBER: Final = 2
BAD_LENGTH: Final = 3
BAD_BRANCH: Final = 4
BAD_SYMBOL: Final = 5
BAD_TIME: Final = 6
BAD_DECIMAL: Final = 7
TOO_LARGE: Final = 8
FAILED: Final = 9
FULL: Final = 10  # the slot lacks capacity for another entry; the payload is not at fault
FULL_OF_BYTES: Final = 11  # the slot lacks capacity for the entry's bytes
