"""Define tables of the connectors datagen, print and blackhole as data sources of Spark.

A datagen table generates its rows in tasks. A row depends only on the query and the row's number, so that a retried
task generates the same rows. The sinks have no tasks here: see sql/jobs/targets/builtin_sinks.py.
"""

from __future__ import annotations

import hashlib
import itertools
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kafka_sql.definition import Definition
from kafka_sql.errors import MissingOptionError, SchemaError, UnsupportedSqlError
from kafka_sql.options import Options
from kafka_sql.options import builtin_connectors as opt
from kafka_sql.runtime.error_trailer import raises_attributes
from kafka_sql.runtime.workers import QuickAckMixin

_BATCH: Final = 10_000  # rows
_MAX_CATCH_UP: Final = 10  # seconds of rows in one micro-batch
_STRING_LENGTH, _COLLECTION_LENGTH = 100, 3  # Flink's defaults
_HEX: Final = np.frombuffer(b"0123456789abcdef", np.uint8)


@dataclass(frozen=True)
class Rows(InputPartition):
    """The rows of one task: their numbers, from 0, and the run, which seeds the random values."""

    run: str
    start: int
    end: int

    @property
    def value(self) -> str:
        """What identifies the partition."""
        return f"{self.run}:{self.start}"


@raises_attributes
class BuiltinTable(QuickAckMixin, DataSource):
    """A table of datagen, print or blackhole; each has a subclass with its definition."""

    definition: ClassVar[Definition]
    spark_schema: StructType

    def schema(self) -> StructType:
        return self.spark_schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch query.

        Raises:
            MissingOptionError: the table is endless.
            UnsupportedSqlError: the table is a sink.
        """
        self._check_source()
        limit = _limit(self.definition)
        if limit is None:
            key = opt.NUMBER_OF_ROWS.key
            raise MissingOptionError(
                f"Table '{self.definition.name}': a batch query of an endless 'datagen' table never ends. Set '{key}', "
                f"for example in a hint: /*+ OPTIONS('{key}' = '10') */.",
                option=key,
                table=self.definition.name,
            )
        return _BatchReader(self.definition, limit, _arrow_schema(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        self._check_source()
        return _StreamReader(self.definition, _arrow_schema(schema))

    def _check_source(self) -> None:
        connector = self.definition.table.options["connector"]
        if connector != opt.DATAGEN:
            raise UnsupportedSqlError(
                f"Table '{self.definition.name}': the connector '{connector}' is a sink and cannot be read.",
                table=self.definition.name,
            )


def builtin_source_class(name: str, definition: Definition, spark_schema: StructType) -> type[BuiltinTable]:
    """Return a table's data source class, to be registered under ``name``, after checking its columns.

    Raises:
        SchemaError: datagen cannot generate a column.
    """
    if definition.table.options["connector"] == opt.DATAGEN:
        generators = opt.parse_generators(definition.table.options, definition.physical_names)
        for field in _arrow_schema(spark_schema):
            generator = generators.get(field.name, opt.Generator())
            _generate(field.name, field.type, generator, np.random.default_rng(0), 0, 1)
    attributes = {"definition": definition, "spark_schema": spark_schema, "name": classmethod(lambda cls: name)}
    return type("BuiltinTable", (BuiltinTable,), attributes)


def _arrow_schema(schema: StructType) -> pa.Schema:
    from kafka_sql.catalog.data_source import arrow_schema

    return arrow_schema(schema)


def _limit(definition: Definition) -> int | None:
    return opt.row_limit(definition.table.options, definition.physical_names)


class _Reader:
    def __init__(self, definition: Definition, schema: pa.Schema) -> None:
        self._schema = schema
        self._generators = opt.parse_generators(definition.table.options, definition.physical_names)

    def read(self, partition: Rows) -> Iterator[pa.RecordBatch]:
        for start in range(partition.start, partition.end, _BATCH):
            count = min(_BATCH, partition.end - start)
            yield generate_rows(self._schema, self._generators, partition.run, start, count)


class _BatchReader(_Reader, DataSourceReader):  # type: ignore[misc]
    def __init__(self, definition: Definition, limit: int, schema: pa.Schema) -> None:
        super().__init__(definition, schema)
        self._limit = limit

    def partitions(self) -> list[Rows]:
        run, tasks = uuid.uuid4().hex, min(4, -(-self._limit // _BATCH))
        bounds = [self._limit * i // max(tasks, 1) for i in range(tasks + 1)]
        return [Rows(run, start, end) for start, end in itertools.pairwise(bounds)]


class _StreamReader(_Reader, DataSourceStreamReader):  # type: ignore[misc]
    def __init__(self, definition: Definition, schema: pa.Schema) -> None:
        super().__init__(definition, schema)
        self._limit = _limit(definition)
        self._rows_per_second = Options(opt.CONNECTORS[opt.DATAGEN], definition.table.options)[opt.ROWS_PER_SECOND]
        self._run, self._row, self._time = uuid.uuid4().hex, 0, time.monotonic()

    def initialOffset(self) -> dict[str, Any]:
        """Return the first row. Spark calls this more than once."""
        return {**self._offset(), "row": 0}

    def latestOffset(self, start: Mapping[str, Any] | None = None, limit: object = None) -> dict[str, Any]:
        """Return where the next micro-batch ends. PySpark 4.1 passes no arguments."""
        if start is not None:  # the query may have been started again
            self._run, self._row = start["run"], start["row"]
        now = time.monotonic()
        new_rows = int(min(now - self._time, _MAX_CATCH_UP) * self._rows_per_second)
        if new_rows:
            self._row, self._time = self._row + new_rows, now
            if self._limit is not None:
                self._row = min(self._row, self._limit)
        return self._offset()

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[Rows]:
        first = start["row"] if start["run"] == end["run"] else 0  # PySpark 4.1 does not resume
        return [Rows(end["run"], first, end["row"])]

    def _offset(self) -> dict[str, Any]:
        return {"run": self._run, "row": self._row, "end": self._limit}


def generate_rows(
    schema: pa.Schema, generators: Mapping[str, opt.Generator], run: str, start: int, count: int
) -> pa.RecordBatch:
    """Return ``count`` rows from the number ``start`` on."""
    columns = []
    for field in schema:
        seed = hashlib.sha256(f"{run}:{field.name}:{start}".encode()).digest()
        random = np.random.default_rng(int.from_bytes(seed[:8], "little"))
        generator = generators.get(field.name, opt.Generator())
        array = _generate(field.name, field.type, generator, random, start, count)
        if generator.null_rate:
            array = pa.array(array.to_pylist(), field.type, mask=random.random(count) < generator.null_rate)
        columns.append(array)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _generate(name: str, type: pa.DataType, g: opt.Generator, random: Any, start: int, count: int) -> pa.Array:
    if g.kind == opt.SEQUENCE:
        numbers = [g.start + start + i for i in range(count)]
        if pt.is_integer(type) or pt.is_floating(type) or pt.is_decimal(type):
            return pa.array([Decimal(n) for n in numbers] if pt.is_decimal(type) else numbers, type)
        if pt.is_string(type):
            return pa.array(list(map(str, numbers)), type)
        raise SchemaError(f"Column '{name}': a sequence must be a number or a STRING, not {type}.", column=name)
    if pt.is_boolean(type):
        return pa.array(random.integers(0, 2, count).astype(bool))
    if pt.is_integer(type):
        limits = np.iinfo(type.to_pandas_dtype())
        low, high = int(g.min or limits.min), int(g.max or limits.max)
        return pa.array(random.integers(low, high, count, type.to_pandas_dtype(), endpoint=True), type)
    if pt.is_floating(type):
        least, most = float(g.min or 0), float(g.max or np.finfo(type.to_pandas_dtype()).max)
        return pa.array(least + random.random(count) * (most - least), pa.float64()).cast(type)
    if pt.is_decimal(type):
        top = 10.0 ** (type.precision - type.scale)
        least, most, unit = float(g.min or 0), float(g.max or top - 1), Decimal(1).scaleb(-type.scale)
        values = least + random.random(count) * (most - least)
        return pa.array([Decimal(repr(float(v))).quantize(unit, ROUND_HALF_UP) for v in values], type)
    if pt.is_timestamp(type):
        now = time.time_ns() // 1_000_000
        millis = now - (random.random(count) * g.max_past).astype(np.int64)
        return pa.array(millis * 1000, pa.int64()).cast(type)
    if pt.is_time(type):
        return pa.array([time.time_ns() % 86_400_000_000_000 // 1000] * count, pa.time64("us")).cast(type)
    if pt.is_date(type):
        return pa.array([int(time.time() // 86_400)] * count, pa.int32()).cast(type)
    if pt.is_string(type) or pt.is_binary(type):
        length = g.length or _STRING_LENGTH
        lengths = random.integers(1, length, count, endpoint=True) if g.var_len else [length] * count
        texts = [_HEX[random.integers(0, 16, int(size))].tobytes() for size in lengths]
        return pa.array([t.decode() for t in texts] if pt.is_string(type) else texts, type)
    return _generate_nested(name, type, g, random, count)


def _generate_nested(name: str, type: pa.DataType, g: opt.Generator, random: Any, count: int) -> pa.Array:
    def values(part: pa.DataType, size: int) -> list[Any]:
        return _generate(name, part, opt.Generator(), random, 0, size).to_pylist()  # type: ignore[no-any-return]

    size = g.length or _COLLECTION_LENGTH
    if pt.is_struct(type):
        fields = [values(field.type, count) for field in type]
        return pa.array(
            [dict(zip((f.name for f in type), row, strict=True)) for row in zip(*fields, strict=True)], type
        )
    if pt.is_list(type):
        return pa.array([values(type.value_type, size) for _ in range(count)], type)
    if pt.is_map(type):
        pairs = ((values(type.key_type, size), values(type.item_type, size)) for _ in range(count))
        return pa.array([list(dict(zip(keys, items, strict=True)).items()) for keys, items in pairs], type)
    raise SchemaError(f"Column '{name}': datagen cannot generate the type {type}.", column=name)
