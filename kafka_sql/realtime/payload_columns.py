"""Decode the records of Spark's Kafka source to the columns of a table, and encode its columns as records."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from kafka_sql.definition import Definition
from kafka_sql.formats.confluent.schemas import SCHEMA_ID, SUBJECT_NAME
from kafka_sql.formats.declared_types import parse_declared_type, quote_identifier
from kafka_sql.formats.payload import Payload
from kafka_sql.options import connector as opt
from kafka_sql.realtime.checks import HEADER_KEYS
from kafka_sql.realtime.java_formats import JavaPayload, create_decoder, create_encoder
from kafka_sql.source.reader.bad_records import describe_tolerance
from kafka_sql.source.reader.metadata import FORMAT_PREFIX
from kafka_sql.spark.jar import java_classes
from kafka_sql.spark.jvm import from_java_column, gateway, java_array, java_column, java_columns
from kafka_sql.table.changelog import DELETE, KINDS, ROW_KIND_NAME

_RECORD: Final = ("topic", "partition", "offset")
_METADATA: Final = (*_RECORD, "timestamp", "timestampType", "headers")
_SCHEMA_ID: Final = FORMAT_PREFIX + SCHEMA_ID
_SUBJECT: Final = FORMAT_PREFIX + SUBJECT_NAME
_TIMESTAMP_TYPES: Final = ("NoTimestampType", "CreateTime", "LogAppendTime")


def decode_records(records: DataFrame, definition: Definition, schema: StructType) -> DataFrame:
    """Return the source columns of a table. A column in both key and value is read from the value.

    Args:
        records: the columns of Spark's Kafka source.
        schema: the source columns in Spark's types.
    """
    key, value = definition.key, definition.value
    metadata = [name for name in _METADATA if name in records.columns]
    rows = records
    keys = ["key"] if key is not None else []
    if any(column.metadata == _SCHEMA_ID for column in definition.table.source_columns):
        rows = rows.withColumn("__schema_id", _schema_id(rows["value"]))
        metadata.append("__schema_id")
    rows = rows.select(*metadata, *keys, F.explode(_decode(rows, definition, value, schema)).alias("__value"))
    if key is not None:
        rows = rows.select(*metadata, "__value", F.explode(_decode(rows, definition, key, schema)).alias("__key"))
    columns: dict[str, Column] = {}
    for payload, name in ((key, "__key"), (value, "__value")):
        if payload is not None:
            pairs = zip(payload.columns, payload.fields, strict=True)
            columns |= {column: F.col(name).getField(field) for column, field in pairs}
    for column in definition.table.source_columns:
        if column.metadata is not None:
            metadata_column = _metadata_column(column.metadata, value, records)
            columns[column.name] = metadata_column.cast(schema[column.name].dataType)
    return rows.select(*(columns[field.name].alias(field.name) for field in schema))


def encode_rows(rows: DataFrame, definition: Definition, schema: StructType) -> DataFrame:
    """Return the columns ``key``, ``value`` and ``headers`` of Spark's Kafka sink. A delete becomes a tombstone.

    Args:
        rows: the columns of the table that are written; with changes, also the row kind.
        schema: the source columns in Spark's types.
    """
    columns = {"value": _encode(rows, definition, definition.value, schema)}
    if ROW_KIND_NAME in rows.columns:
        columns["value"] = F.when(rows[ROW_KIND_NAME] != KINDS[DELETE], columns["value"])
    if definition.key is not None:
        columns["key"] = _encode(rows, definition, definition.key, schema)
    for column in definition.table.persisted_columns:
        if column.metadata in HEADER_KEYS and column.name in rows.columns:
            headers = rows[quote_identifier(column.name)]
            columns["headers"] = F.map_entries(headers) if column.metadata == "headers" else headers
    return rows.select(*(column.alias(name) for name, column in columns.items()))


def _metadata_column(key: str, value: Payload, records: DataFrame) -> Column:
    if key == _SCHEMA_ID:
        return F.col("__schema_id")
    if key == _SUBJECT:
        return F.lit(value.subject)
    if key in HEADER_KEYS:
        headers = F.coalesce(F.col("headers"), F.array())
        if key == "header-list":
            return headers
        formats = java_classes(records.sparkSession.sparkContext).realtime.RecordFormats
        return from_java_column(formats.headerMap(java_column(headers)))
    if key == "timestamp":
        return F.nullif(F.col(key), F.timestamp_millis(F.lit(-1)))  # a record without a timestamp has -1
    if key != "timestamp-type":
        return F.col(key)
    number, names = F.col("timestampType"), _TIMESTAMP_TYPES
    return F.when(number == 0, names[1]).when(number == 1, names[2]).otherwise(names[0])


def _schema_id(payload: Column) -> Column:
    """Return the schema id in the header of Confluent's wire format, four bytes after the first one."""
    number = F.conv(F.hex(F.substring(payload, 2, 4)), 16, 10).cast("long")
    return F.when(number < 2**31, number).otherwise(number - 2**32)  # as a signed number, as in micro-batches


def _decode(rows: DataFrame, definition: Definition, payload: Payload, schema: StructType) -> Column:
    java = _java_payload(rows, definition, payload, schema)
    name, part = ("key", " (key)") if payload is definition.key else ("value", "")
    advice = f" ({describe_tolerance(payload)})"
    errors = java.formats.ErrorHandling(definition.name, part, advice, definition.options[opt.ERROR_HANDLING])
    decoder = create_decoder(java, errors)
    record = java_columns(rows.sparkSession, [rows[column] for column in (name, *_RECORD)])
    return from_java_column(java.classes.RecordFormats.decode(record, java.java_types, decoder))


def _encode(rows: DataFrame, definition: Definition, payload: Payload, schema: StructType) -> Column:
    java = _java_payload(rows, definition, payload, schema)
    pairs = zip(payload.columns, payload.fields, strict=True)
    struct = F.struct(*(rows[quote_identifier(column)].alias(field) for column, field in pairs))
    columns = java_array(rows.sparkSession, "String", payload.columns)
    encoder = java.classes.RowEncoder(create_encoder(java), definition.name, columns)
    return from_java_column(java.classes.RecordFormats.encode(java_column(struct), encoder))


def _java_payload(rows: DataFrame, definition: Definition, payload: Payload, schema: StructType) -> JavaPayload:
    declared = {c.name: parse_declared_type(c.declared) for c in definition.table.physical_columns}
    precisions = [declared[column].fraction_digits for column in payload.columns]
    arrow = to_arrow_schema(schema, timezone="UTC")
    types, fields = _payload_type(payload, schema), payload.field_schema(arrow)
    return JavaPayload(gateway(rows.sparkSession), payload, types, fields, arrow, precisions)


def _payload_type(payload: Payload, schema: StructType) -> StructType:
    pairs = zip(payload.columns, payload.fields, strict=True)
    return StructType([StructField(f, schema[c].dataType, schema[c].nullable) for c, f in pairs])
