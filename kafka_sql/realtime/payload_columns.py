"""Decode the records of Spark's Kafka source to the columns of a table, and encode its columns as records."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, StructField, StructType

from kafka_sql.definition import Definition
from kafka_sql.formats.declared_types import parse_declared_type, quote_identifier
from kafka_sql.formats.json.options import (
    DECIMAL_AS_PLAIN_NUMBER,
    FAIL_ON_MISSING_FIELD,
    IGNORE_NULL_FIELDS,
    IGNORE_PARSE_ERRORS,
    TIMESTAMP_FORMAT,
)
from kafka_sql.formats.payload import Payload
from kafka_sql.options import connector as opt
from kafka_sql.realtime.checks import precision
from kafka_sql.source.reader.bad_records import how_to_tolerate

_RECORD: Final = ("topic", "partition", "offset")
_TIMESTAMP_TYPES: Final = ("NoTimestampType", "CreateTime", "LogAppendTime")


def decode_records(records: DataFrame, definition: Definition, schema: StructType) -> DataFrame:
    """Return the source columns of a table. A column in both key and value is read from the value.

    Args:
        records: the columns of Spark's Kafka source.
        schema: the source columns in Spark's types.
    """
    key, value = definition.key, definition.value
    metadata = [*_RECORD, "timestamp", "timestampType"]
    rows = records
    if key is not None:
        rows = rows.select(*metadata, "value", F.explode(_decode(rows, definition, key, schema)).alias("__key"))
    keys = ["__key"] if key is not None else []
    rows = rows.select(*metadata, *keys, F.explode(_decode(rows, definition, value, schema)).alias("__value"))
    columns: dict[str, Column] = {}
    for payload, name in ((key, "__key"), (value, "__value")):
        if payload is not None:
            pairs = zip(payload.columns, payload.fields, strict=True)
            columns |= {column: F.col(name).getField(field) for column, field in pairs}
    for column in definition.table.source_columns:
        if column.metadata is not None:
            columns[column.name] = _metadata_column(column.metadata).cast(schema[column.name].dataType)
    return rows.select(*(columns[field.name].alias(field.name) for field in schema))


def encode_rows(rows: DataFrame, definition: Definition, schema: StructType) -> DataFrame:
    """Return the columns ``key`` and ``value`` of Spark's Kafka sink.

    Args:
        rows: the columns of the table that are written.
        schema: the source columns in Spark's types.
    """
    payloads = [(definition.key, "key"), (definition.value, "value")]
    return rows.select(
        *(_encode(rows, definition, payload, schema).alias(name) for payload, name in payloads if payload is not None)
    )


def _metadata_column(key: str) -> Column:
    if key != "timestamp-type":
        return F.col(key)
    number, names = F.col("timestampType"), _TIMESTAMP_TYPES
    return F.when(number == 0, names[1]).when(number == 1, names[2]).otherwise(names[0])


def _decode(rows: DataFrame, definition: Definition, payload: Payload, schema: StructType) -> Column:
    formats = _jvm(rows)
    name, part = ("key", " (key)") if payload is definition.key else ("value", "")
    advice = f" ({how_to_tolerate(payload)})"
    mode = definition.options[opt.ERROR_HANDLING]
    struct = _java_type(rows, _payload_type(payload, schema))
    decoder = formats.JsonDecoder(struct, _json_rules(rows, payload, schema), part, advice, mode)
    untyped: Any = rows
    record = untyped.sparkSession.sparkContext._gateway.new_array(_jvm_column(rows), 4)
    for i, column in enumerate((name, *_RECORD)):
        record[i] = untyped[column]._jc
    return _column(formats.RecordFormats.decodeJson(record, struct, decoder))


def _encode(rows: DataFrame, definition: Definition, payload: Payload, schema: StructType) -> Column:
    formats = _jvm(rows)
    untyped: Any = rows
    declared = {c.name: parse_declared_type(c.declared) for c in definition.table.physical_columns}
    gateway = untyped.sparkSession.sparkContext._gateway
    precisions = gateway.new_array(gateway.jvm.int, len(payload.columns))
    for i, column in enumerate(payload.columns):
        precisions[i] = precision(declared[column])
    type_ = _java_type(rows, _payload_type(payload, schema))
    encoder = formats.JsonEncoder(type_, precisions, _json_rules(rows, payload, schema), definition.name)
    pairs = zip(payload.columns, payload.fields, strict=True)
    struct: Any = F.struct(*(rows[quote_identifier(column)].alias(field) for column, field in pairs))
    return _column(formats.RecordFormats.encodeJson(struct._jc, encoder))


def _payload_type(payload: Payload, schema: StructType) -> StructType:
    pairs = zip(payload.columns, payload.fields, strict=True)
    return StructType([StructField(f, schema[c].dataType, schema[c].nullable) for c, f in pairs])


def _json_rules(rows: DataFrame, payload: Payload, schema: StructType) -> Any:
    options = payload.options
    return _jvm(rows).JsonRules(
        options[FAIL_ON_MISSING_FIELD],
        options[IGNORE_PARSE_ERRORS],
        options[TIMESTAMP_FORMAT],
        options.key(FAIL_ON_MISSING_FIELD),
        any(_has_decimal(schema[column].dataType) for column in payload.columns),
        options[DECIMAL_AS_PLAIN_NUMBER],
        options[IGNORE_NULL_FIELDS],
    )


def _has_decimal(data_type: Any) -> bool:
    if isinstance(data_type, StructType):
        return any(_has_decimal(field.dataType) for field in data_type)
    inner = [getattr(data_type, name, None) for name in ("elementType", "keyType", "valueType")]
    return isinstance(data_type, DecimalType) or any(_has_decimal(t) for t in inner if t is not None)


def _jvm(rows: DataFrame) -> Any:
    context: Any = rows.sparkSession.sparkContext
    return context._jvm.kafka_sql


def _jvm_column(rows: DataFrame) -> Any:
    context: Any = rows.sparkSession.sparkContext
    return context._jvm.org.apache.spark.sql.Column


def _java_type(rows: DataFrame, schema: StructType) -> Any:
    context: Any = rows.sparkSession.sparkContext
    return context._jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())


def _column(java_column: Any) -> Column:
    from pyspark.sql.classic.column import Column as ClassicColumn

    return ClassicColumn(java_column)
