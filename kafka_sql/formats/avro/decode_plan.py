"""Define the plan that the decode loop carries out, and build it: operations, literals and subroutines.

A record can be used many times in a schema. Its operations are a subroutine, so that the plan is no larger than the
schema.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_sql.formats.avro import opcodes
from kafka_sql.formats.avro.schema import AvroType, shorten
from kafka_sql.formats.columnar.column_buffers import ColumnNode

MAX_OPERATIONS: Final = 100_000
MAX_SYMBOL_SIZE: Final = 255  # bytes; a byte of a payload can become a symbol
IS_NULL: Final = "is null, but declared NOT NULL"


class SchemaMismatch(Exception):
    """A writer's schema cannot be read as the table's columns; the message says where and why."""


class SchemaTooLarge(ValueError):
    """A plan for a writer's schema would have more than MAX_OPERATIONS operations."""

    def __init__(self) -> None:
        super().__init__(f"has too many parts: reading a record takes more than {MAX_OPERATIONS:,} operations")


class _Subroutine(NamedTuple):
    """Operations that are called: where they start, and the cell for the operation that called them."""

    start: int
    cell: int


@dataclass
class AvroDecodePlan:
    """The operations that decode a payload."""

    tree: list[ColumnNode]  # the columns and their slots
    slot_count: int  # number of slots
    operations: list[list[int]] = field(default_factory=list)  # rows of OPERATION_CELLS
    jumps: list[int] = field(default_factory=list)
    literals: bytearray = field(default_factory=bytearray)
    literal_ranges: list[tuple[int, int]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)  # the path of the column, per operation
    # per operation, the cell of the subroutine that it is in if the subroutine skips fields, whose path is that of the
    # operation that called it; otherwise -1
    subroutine_cells: list[int] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)  # messages of FAIL operations
    cell_count: int = 0  # number of cells that arrays and subroutines need
    # of how many unions with several types, inside each other, operations are being added. They may be added again for
    # the same column
    alternatives: int = 0
    # While the plan is made, by the writer's type and the column's slot (-1 if it is skipped)
    _subroutines: dict[tuple[int, int], _Subroutine] = field(default_factory=dict)
    _mismatches: dict[tuple[int, int], SchemaMismatch] = field(default_factory=dict)
    _symbols: dict[tuple[int, int], int] = field(default_factory=dict)
    _skipped_cell: int = -1
    _counted: int = 0

    def emit(self, path: str, opcode: int, slot: int = -1, a: int = 0, b: int = 0, c: int = 0) -> int:
        """Add an operation; return its number.

        Raises:
            SchemaTooLarge: too many operations have been added, including those that were removed.
        """
        self.count(1)
        self.operations.append([opcode, slot, a, b, c])
        self.paths.append(path)
        self.subroutine_cells.append(self._skipped_cell)
        return len(self.operations) - 1

    def count(self, parts: int) -> None:
        """Count operations, or fields that need none.

        Raises:
            SchemaTooLarge: there are too many.
        """
        self._counted += parts
        if self._counted > MAX_OPERATIONS:
            raise SchemaTooLarge

    def add_cell(self) -> int:
        """Return the number of a new cell."""
        self.cell_count += 1
        return self.cell_count - 1

    def call(self, writer: AvroType, slot: int, path: str, emit_body: Callable[[], None]) -> None:
        """Add a call of the operations that ``emit_body`` adds, after those themselves if it is the first call.

        Raises:
            SchemaMismatch: ``emit_body`` raised it, now or at the first call.
        """
        key = id(writer), slot
        if key in self._mismatches:
            raise self._mismatches[key]
        subroutine = self._subroutines.get(key)
        if subroutine is not None:
            call = self.emit(path, opcodes.CALL, -1, subroutine.start, 0, subroutine.cell)
        else:
            cell = self.add_cell()
            call = self.emit(path, opcodes.CALL, -1, len(self.operations) + 1, 0, cell)
            self._subroutines[key] = _Subroutine(call + 1, cell)
            enclosing, self._skipped_cell = self._skipped_cell, cell if slot < 0 else self._skipped_cell
            try:
                emit_body()
                self.emit(path, opcodes.RETURN, c=cell)
            except SchemaMismatch as e:
                self._mismatches[key] = e
                raise
            finally:
                self._skipped_cell = enclosing
        self.operations[call][opcodes.B] = len(self.operations)

    def remove(self, operation_count: int, jump_count: int) -> None:
        """Remove all operations and jumps except the first ones."""
        del self.operations[operation_count:], self.paths[operation_count:], self.subroutine_cells[operation_count:]
        del self.jumps[jump_count:]
        while self._subroutines and next(reversed(self._subroutines.values())).start > operation_count:
            self._subroutines.popitem()

    def add_symbols(self, writer: AvroType, reader: AvroType) -> int:
        """Add the symbols of an enum as literals; return the number of the first one.

        Raises:
            SchemaMismatch: a symbol is too large.
        """
        key = id(writer), id(reader)
        if key not in self._symbols:
            known = frozenset(reader.symbols)
            first = len(self.literal_ranges)
            for symbol in writer.symbols:
                is_known = reader.type_name != "enum" or symbol in known
                value = symbol if is_known else reader.default
                self.add_literal((value or "").encode("utf-8", "replace"))
                if value is None:
                    self.literal_ranges[-1] = (0, -1)
                elif self.literal_ranges[-1][1] > MAX_SYMBOL_SIZE:
                    raise SchemaMismatch(f"{writer} has the symbol '{shorten(value)}' of more than "
                                         f"{MAX_SYMBOL_SIZE} bytes")  # fmt: skip
            self._symbols[key] = first
        return self._symbols[key]

    def add_literal(self, value: bytes) -> int:
        """Add bytes that do not come from a payload, such as an enum's symbol; return the literal's number."""
        self.literal_ranges.append((len(self.literals), len(value)))
        self.literals += value
        return len(self.literal_ranges) - 1

    def tables(self) -> dict[str, npt.NDArray[Any]]:
        """Return the plan's tables in ``decode_kernels.Batch``."""
        return {
            "operations": np.array(self.operations, np.int64),
            "jumps": np.array(self.jumps or [0], np.int64),
            "literals": np.frombuffer(bytes(self.literals) or b"\0", np.uint8),
            "literal_ranges": np.array(self.literal_ranges or [(0, 0)], np.int64),
        }


def child_path(path: str, name: str) -> str:
    """Return the path of a field."""
    return f"{path}.{name}" if path else name


def non_null_branch(avro: AvroType) -> AvroType:
    """Return the non-null branch of a union of null and one type, or the type itself if it is not a union.

    Raises:
        SchemaMismatch: there are several.
    """
    branches = [b for b in avro.items if b.type_name != "null"] if avro.type_name == "union" else [avro]
    if len(branches) != 1:
        raise SchemaMismatch(f"{avro} is a union of several types, which no column type can hold")
    return branches[0]
