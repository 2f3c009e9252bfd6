"""Encode columns in Avro's binary encoding."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.errors import EncodeError, SchemaError
from kafka_sql.formats.avro import encode_kernels
from kafka_sql.formats.avro.logical_types import write_factor
from kafka_sql.formats.avro.schema import AvroType
from kafka_sql.formats.columnar.array_kernels import data_size, input_table
from kafka_sql.formats.columnar.arrow_buffers import pass_addresses
from kafka_sql.formats.columnar.encode_plan import EncodePlan, Steps

_MAX_BYTES: Final = 2**31 - 1  # as 32-bit offsets can address
_MAX_VALUE_SIZE: Final = 22  # bytes, with the union branch, without the content of strings


class AvroWriter:
    """Encodes rows with one schema."""

    def __init__(self, schema: pa.Schema, avro: AvroType) -> None:
        """
        Args:
            avro: a record whose fields are the columns, in their order, or a union of null and such a record.

        Raises:
            SchemaError: the Avro schema does not match the columns.
        """
        self._plan = EncodePlan(encode_kernels.OPERATION_CELLS)
        self._symbols: dict[int, tuple[str, tuple[str, ...]]] = {}  # path and symbols of an enum, by input
        record = avro.find_record() or avro
        if record.type_name != "record" or len(record.fields) != len(schema):
            raise SchemaError(
                f"The Avro schema is {avro}, expected a record with the fields: {', '.join(schema.names)}."
            )
        self._prefix = bytes([2 * avro.items.index(record)]) if avro.type_name == "union" else b""
        for index, (column, avro_field) in enumerate(zip(schema, record.fields, strict=True)):
            self._emit_value(column, avro_field.type, (index,), 0, column.name)
        self._plan.emit("", encode_kernels.END, 0, 0)
        self._operations = np.array(self._plan.operations, np.int64)

    def _emit_value(self, column: pa.Field, avro: AvroType, steps: Steps, depth: int, path: str) -> None:
        """Emit the operations of a column or of a type inside it."""
        plan, arrow_type = self._plan, column.type
        input_ = plan.add_input(steps)
        non_null_type, null_branch, branch = _split_union(avro, path)
        union = plan.emit(path, encode_kernels.UNION, input_, depth, null_branch, branch)
        if (
            pt.is_struct(arrow_type)
            and non_null_type.type_name == "record"
            and len(non_null_type.fields) == arrow_type.num_fields
        ):
            for index, (child, avro_field) in enumerate(zip(arrow_type, non_null_type.fields, strict=True)):
                self._emit_value(child, avro_field.type, (*steps, index), depth, f"{path}.{child.name}")
        elif (pt.is_list(arrow_type) and non_null_type.type_name == "array") or (
            pt.is_map(arrow_type) and non_null_type.type_name == "map"
        ):
            plan.max_depth = max(plan.max_depth, depth + 1)
            start, element = plan.emit(path, encode_kernels.ARRAY, input_, depth), non_null_type.element
            if pt.is_map(arrow_type):
                self._emit_value(arrow_type.key_field, AvroType("string"), (*steps, "keys"), depth + 1, path)
                self._emit_value(arrow_type.item_field, element, (*steps, "items"), depth + 1, f"{path}[]")
            else:
                self._emit_value(arrow_type.value_field, element, (*steps, "values"), depth + 1, f"{path}[]")
            plan.emit(path, encode_kernels.NEXT, input_, depth + 1, start + 1)
            plan.operations[start][encode_kernels.C] = len(plan.operations)
        else:
            opcode, operand = _scalar_operation(arrow_type, non_null_type, path)
            if non_null_type.type_name == "enum":
                self._symbols[input_] = path, non_null_type.symbols
            plan.emit(path, opcode, input_, depth, operand)
        plan.operations[union][encode_kernels.C] = len(plan.operations)

    def encode(self, batch: pa.RecordBatch, header: bytes = b"") -> pa.BinaryArray:
        """Return one payload per row, each with ``header`` before it.

        Raises:
            EncodeError: a value does not fit the schema.
        """
        count, prefix = batch.num_rows, np.frombuffer(header + self._prefix, np.uint8)
        arrays = self._plan.find_arrays(batch.columns)
        for input_, (path, symbols) in self._symbols.items():
            arrays[input_] = _symbol_numbers(arrays[input_], path, symbols)
        size = count * (len(prefix) + 1) + sum(_MAX_VALUE_SIZE * len(array) + data_size(array) for array in arrays)
        if size > _MAX_BYTES:
            if count < 2:
                raise EncodeError(f"A row of more than {_MAX_BYTES} bytes cannot be encoded as Avro.")
            middle = count // 2
            return pa.concat_arrays([self.encode(batch[:middle], header), self.encode(batch[middle:], header)])
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


def _split_union(avro: AvroType, path: str) -> tuple[AvroType, int, int]:
    """Return the type that is not null, the branch of null (-1 if there is none), and the type's own branch."""
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


def _symbol_numbers(array: pa.Array, path: str, symbols: tuple[str, ...]) -> pa.Int32Array:
    """Return the numbers of an enum's symbols."""
    numbers = pc.index_in(array, pa.array(symbols))
    if numbers.null_count > array.null_count:
        unknown_symbol = array.filter(pc.and_(numbers.is_null(), array.is_valid()))[0].as_py()
        raise EncodeError(
            f"Field '{path}': '{unknown_symbol}' is not a symbol of the Avro enum. The symbols are: "
            f"{', '.join(symbols)}.",
            field=path,
        )
    return numbers
