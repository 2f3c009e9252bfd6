"""Define the plan that the encode loop of a binary format carries out for each row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

Steps: TypeAlias = tuple[Any, ...]  # the column's index, then per step a child's index, "keys", "items" or "values"


@dataclass
class EncodePlan:
    """The operations that encode a row."""

    cell_count: int  # cells of an operation
    operations: list[list[int]] = field(default_factory=list)  # rows of cells
    paths: list[str] = field(default_factory=list)  # the path of the column, per operation, for errors
    inputs: list[Steps] = field(default_factory=list)  # the steps to each array that operations read
    max_depth: int = 0  # the deepest nesting

    def add_input(self, steps: Steps) -> int:
        """Add an input; return its number."""
        self.inputs.append(steps)
        return len(self.inputs) - 1

    def emit(self, path: str, *cells: int) -> int:
        """Add an operation, whose last cells are 0 by default; return its number."""
        self.operations.append([*cells] + [0] * (self.cell_count - len(cells)))
        self.paths.append(path)
        return len(self.operations) - 1

    def find_arrays(self, columns: list[pa.Array]) -> list[pa.Array]:
        """Return the inputs' arrays, with 32-bit offsets."""
        return [_find_array(columns, steps) for steps in self.inputs]


def _find_array(columns: list[pa.Array], steps: Steps) -> pa.Array:
    array = columns[steps[0]]
    for step in steps[1:]:
        array = getattr(array, step) if isinstance(step, str) else array.field(step)
    if pt.is_large_string(array.type) or pt.is_large_binary(array.type):
        return array.cast(pa.string() if pt.is_large_string(array.type) else pa.binary())
    return array
