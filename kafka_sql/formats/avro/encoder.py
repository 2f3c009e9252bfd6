"""Encode columns in Avro's binary encoding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.errors import EncodeError, SchemaError
from kafka_sql.formats.avro import encode_kernels
from kafka_sql.formats.avro.options import LEGACY_TIMESTAMPS
from kafka_sql.formats.avro.schema import AvroType, parse_schema
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.formats.columnar.array_kernels import data_size, input_table
from kafka_sql.formats.columnar.binary_reader import pass_addresses
from kafka_sql.options import Options

_FROM_MICROS: Final = {"millis": -1000, "micros": 1, "nanos": 1000}  # factors; a divisor is negative
_FROM_NANOS: Final = {"millis": -1_000_000, "micros": -1000}
_MAX_BYTES: Final = 2**31 - 1  # as 32-bit offsets can address
_MAX_VALUE_SIZE: Final = 22  # bytes, with the union branch, without the content of strings


class AvroEncoder:
    """Encodes rows with the schema derived from the table."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: Avro has no type for a column.
        """
        self._writer = AvroWriter(schema, parse_schema(derive_schema(schema, options[LEGACY_TIMESTAMPS])))

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row.

        Raises:
            EncodeError: a value does not fit the schema.
        """
        return self._writer.write(batch)


@dataclass
class _Input:
    """How to find an array in a batch.

    Attributes:
        steps: the column's index, then per step a child's index, "keys", "items" or "values".
        path: the path of the column, for errors.
        symbols: of an enum.
    """

    steps: tuple[Any, ...]
    path: str
    symbols: tuple[str, ...] = ()


@dataclass
class _EncodePlan:
    """The operations that encode a row.

    Attributes:
        operations: rows of OPERATION_CELLS.
        paths: the path of the column, per operation.
        inputs: the arrays that operations read.
        max_depth: the deepest nesting of arrays in arrays.
    """

    operations: list[list[int]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    inputs: list[_Input] = field(default_factory=list)
    max_depth: int = 0

    def emit(self, path: str, opcode: int, input_: int, depth: int, a: int = 0, b: int = 0, c: int = 0) -> int:
        """Add an operation; return its number."""
        self.operations.append([opcode, input_, depth, a, b, c])
        self.paths.append(path)
        return len(self.operations) - 1


class AvroWriter:
    """Encodes rows with one schema."""

    def __init__(self, schema: pa.Schema, avro: AvroType) -> None:
        """
        Args:
            avro: a record whose fields are the columns, in their order, or a union of null and such a record.

        Raises:
            SchemaError: the Avro schema does not match the columns.
        """
        self._plan = _EncodePlan()
        record = avro.find_record() or avro
        if record.type_name != "record" or len(record.fields) != len(schema):
            raise SchemaError(
                f"The Avro schema is {avro}, expected a record with the fields: {', '.join(schema.names)}."
            )
        self._prefix = bytes([2 * avro.items.index(record)]) if avro.type_name == "union" else b""
        for index, (column, avro_field) in enumerate(zip(schema, record.fields, strict=True)):
            _emit_value(self._plan, column, avro_field.type, (index,), 0, column.name)
        self._plan.emit("", encode_kernels.END, 0, 0)
        self._operations = np.array(self._plan.operations, np.int64)

    def write(self, batch: pa.RecordBatch, header: bytes = b"") -> pa.BinaryArray:
        """Return one payload per row, each with ``header`` before it.

        Raises:
            EncodeError: a value does not fit the schema.
        """
        count, prefix = batch.num_rows, np.frombuffer(header + self._prefix, np.uint8)
        arrays = [_find_array(batch, input_) for input_ in self._plan.inputs]
        size = count * (len(prefix) + 1) + sum(_MAX_VALUE_SIZE * len(array) + data_size(array) for array in arrays)
        if size > _MAX_BYTES:
            if count < 2:
                raise EncodeError(f"A row of more than {_MAX_BYTES} bytes cannot be encoded as Avro.")
            middle = count // 2
            return pa.concat_arrays([self.write(batch[:middle], header), self.write(batch[middle:], header)])
        inputs, output, offsets = input_table(arrays), np.empty(size, np.uint8), np.zeros(count + 1, np.int32)
        positions, ends = np.zeros((2, self._plan.max_depth + 1), np.int64)
        failed_operation = np.zeros(1, np.int64)
        outcome = encode_kernels.encode_rows(
            pass_addresses(
                encode_kernels.Batch, operations=self._operations, inputs=inputs, row_count=count, header=prefix,
                header_size=len(prefix), output=output, offsets=offsets, positions=positions, ends=ends,
                failed_operation=failed_operation,
            )
        )  # fmt: skip
        if outcome < 0:
            raise self._error(outcome, int(failed_operation[0]))
        used_bytes = int(offsets[-1])
        # a copy frees the unused memory
        data = output[:used_bytes] if used_bytes * 2 > size else output[:used_bytes].copy()
        return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data)])

    def _error(self, outcome: int, operation: int) -> EncodeError:
        path = self._plan.paths[operation]
        if outcome == encode_kernels.NULL_FOUND:
            return null_error(path)
        size = self._plan.operations[operation][encode_kernels.A]
        return EncodeError(f"Field '{path}': the Avro schema expects a fixed of {size} bytes.", field=path)


def _emit_value(
    plan: _EncodePlan, column: pa.Field, avro: AvroType, steps: tuple[Any, ...], depth: int, path: str
) -> None:
    """Emit the operations of a column or of a type inside it.

    Args:
        steps: as in ``_Input``.
        path: the column's path, for errors.
    """
    arrow_type, input_ = column.type, len(plan.inputs)
    plan.inputs.append(_Input(steps, path))
    non_null_type, null_branch, branch = _split_union(avro, path)
    union = plan.emit(path, encode_kernels.UNION, input_, depth, null_branch, branch)
    if (
        pt.is_struct(arrow_type)
        and non_null_type.type_name == "record"
        and len(non_null_type.fields) == arrow_type.num_fields
    ):
        for index, (child, avro_field) in enumerate(zip(arrow_type, non_null_type.fields, strict=True)):
            _emit_value(plan, child, avro_field.type, (*steps, index), depth, f"{path}.{child.name}")
    elif (pt.is_list(arrow_type) and non_null_type.type_name == "array") or (
        pt.is_map(arrow_type) and non_null_type.type_name == "map"
    ):
        plan.max_depth = max(plan.max_depth, depth + 1)
        start = plan.emit(path, encode_kernels.ARRAY, input_, depth)
        if pt.is_map(arrow_type):
            _emit_value(plan, arrow_type.key_field, AvroType("string"), (*steps, "keys"), depth + 1, path)
            _emit_value(plan, arrow_type.item_field, non_null_type.element, (*steps, "items"), depth + 1, f"{path}[]")
        else:
            _emit_value(plan, arrow_type.value_field, non_null_type.element, (*steps, "values"), depth + 1, f"{path}[]")
        plan.emit(path, encode_kernels.NEXT, input_, depth + 1, start + 1)
        plan.operations[start][encode_kernels.C] = len(plan.operations)
    else:
        opcode, operand = _scalar_operation(arrow_type, non_null_type, path)
        if non_null_type.type_name == "enum":
            plan.inputs[input_] = _Input(steps, path, non_null_type.symbols)
        plan.emit(path, opcode, input_, depth, operand)
    plan.operations[union][encode_kernels.C] = len(plan.operations)


def _split_union(avro: AvroType, path: str) -> tuple[AvroType, int, int]:
    """Return the type that is not null, the branch of null (-1 if there is none), and the type's own branch.

    Raises:
        SchemaError: it is a union, but not of null and one other type.
    """
    if avro.type_name != "union":
        return avro, -1, 0
    branches = [branch.type_name == "null" for branch in avro.items]
    if sorted(branches) != [False, True]:
        raise SchemaError(f"The Avro schema is not a nullable type: {avro} (field '{path}').", column=path)
    branch = branches.index(False)
    return avro.items[branch], 1 - branch, branch


def _scalar_operation(arrow_type: pa.DataType, avro: AvroType, path: str) -> tuple[int, int]:
    """Return the opcode that writes a value, and its argument A."""
    type_name = avro.type_name
    is_string = pt.is_string(arrow_type) or pt.is_large_string(arrow_type)
    is_binary = pt.is_binary(arrow_type) or pt.is_large_binary(arrow_type)
    if pt.is_boolean(arrow_type) and type_name == "boolean":
        return encode_kernels.BOOLEAN, 0
    if ((pt.is_integer(arrow_type) and arrow_type.bit_width < 64) or pt.is_date(arrow_type)) and type_name == "int":
        return {8: encode_kernels.BYTE, 16: encode_kernels.SHORT, 32: encode_kernels.INT}[arrow_type.bit_width], 0
    if pt.is_integer(arrow_type) and type_name == "long":
        return encode_kernels.LONG, 1
    if (pt.is_timestamp(arrow_type) and type_name == "long") or (
        pt.is_time(arrow_type) and type_name in ("int", "long")
    ):
        return encode_kernels.LONG, write_factor(avro, arrow_type)
    if pt.is_floating(arrow_type) and type_name == ("float" if arrow_type.bit_width == 32 else "double"):
        return (encode_kernels.FLOAT, 0) if arrow_type.bit_width == 32 else (encode_kernels.DOUBLE, 0)
    if pt.is_decimal(arrow_type) and avro.logical_type == "decimal" and avro.scale == arrow_type.scale:
        return (encode_kernels.DECIMAL, 0) if type_name == "bytes" else (encode_kernels.DECIMAL_FIXED, avro.size)
    if is_string and type_name == "enum":
        return encode_kernels.INT, 0
    if (is_string and type_name == "string") or (is_binary and type_name == "bytes"):
        return encode_kernels.BYTES, 0
    if is_binary and type_name == "fixed":
        return encode_kernels.FIXED, avro.size
    raise SchemaError(
        f"The Avro schema has {avro} for the field '{path}', which is {arrow_type} in the table.", column=path
    )


def null_error(path: str) -> EncodeError:
    """Return the error of a null in a field that is not a union with null."""
    return EncodeError(f"Field '{path}': the value is NULL, but the Avro schema does not allow null.", field=path)


def write_factor(avro: AvroType, arrow_type: pa.DataType) -> int:
    """Return the factor from the column's time unit to Avro's; a divisor is negative."""
    unit = avro.logical_type.rpartition("-")[2]
    return _FROM_NANOS.get(unit, -1_000_000) if pt.is_time(arrow_type) else _FROM_MICROS.get(unit, -1000)


def _find_array(batch: pa.RecordBatch, input_: _Input) -> pa.Array:
    """Return an input's array, with 32-bit offsets; an enum as the indices of its symbols.

    Raises:
        EncodeError: a value is not a symbol of the enum.
    """
    array: pa.Array = batch.column(input_.steps[0])
    for step in input_.steps[1:]:
        array = getattr(array, step) if isinstance(step, str) else array.field(step)
    if pt.is_large_string(array.type) or pt.is_large_binary(array.type):
        array = array.cast(pa.string() if pt.is_large_string(array.type) else pa.binary())
    if input_.symbols:
        codes = pc.index_in(array, pa.array(input_.symbols))
        if codes.null_count > array.null_count:
            unknown_symbol = array.filter(pc.and_(codes.is_null(), array.is_valid()))[0].as_py()
            symbols = ", ".join(input_.symbols)
            raise EncodeError(
                f"Field '{input_.path}': '{unknown_symbol}' is not a symbol of the Avro enum. The "
                f"symbols are: {symbols}.",
                field=input_.path,
            )
        return codes
    return array
