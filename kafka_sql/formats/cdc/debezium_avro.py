"""Define the debezium-avro-confluent format: change events that Debezium writes with Confluent's Avro converter.

Source: flink-avro-confluent-registry, DebeziumAvroDecodingFormat and its schemas.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.errors import SchemaError
from kafka_sql.formats.avro.schema import AvroType, parse_schema
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.formats.avro_confluent.schema_from_table import table_schema
from kafka_sql.formats.avro_confluent.schema_inference import infer_record_columns
from kafka_sql.formats.cdc.decoder import ChangeDecoder
from kafka_sql.formats.cdc.dialect import MILLIS, SOURCE, Metadata, from_millis, source_property, source_timestamp
from kafka_sql.formats.cdc.encoder import ChangeEncoder
from kafka_sql.formats.cdc.json_dialects import DEBEZIUM
from kafka_sql.formats.confluent.options import declare_registry_options
from kafka_sql.formats.confluent.schemas import RegisteredSchema, infer_from_registry
from kafka_sql.formats.declared_types import DECLARED_TYPE
from kafka_sql.formats.format import ColumnTypes, Decoded, Decoder, Encoder, ErrorSink, Format
from kafka_sql.options import Options
from kafka_sql.table.changelog import ROW_KIND

OPTIONS: Final = declare_registry_options(
    "debezium-avro-confluent",
    "AVRO",
    "An Avro schema for reading and writing: a nullable record with the fields 'before', 'after' and 'op', of which "
    "the first two have the table's columns as their fields, in order. By default it is derived from the columns.",
)
_TIMESTAMPS: Final = ("ts_ms",)  # properties of the source that are BIGINT
_PROPERTIES: Final = (
    "version",
    "connector",
    "name",
    *_TIMESTAMPS,
    "snapshot",
    "db",
    "sequence",
    "schema",
    "table",
    "txId",
    "scn",
    "commit_scn",
    "lcr_position",
)


def _source_type(*keys: str) -> pa.DataType:
    return pa.struct([(key, pa.int64() if key in _TIMESTAMPS else pa.string()) for key in keys])


def _source_metadata(key: str) -> Metadata:
    return Metadata(pa.string(), "source", _source_type(key), source_property(key))


def _source_properties(sources: pa.StructArray) -> pa.MapArray:
    """Return all properties that Flink knows, as strings."""
    count, width = len(sources), len(_PROPERTIES)
    names = pa.array(_PROPERTIES * count, pa.string())
    columns = [pc.struct_field(sources, key).cast(pa.string()) for key in _PROPERTIES]
    by_row = pa.array([k * count + i for i in range(count) for k in range(width)], pa.int64())
    values = pa.concat_arrays([pa.array([], pa.string()), *columns]).take(by_row)
    offsets = pa.array([None if not s else i * width for i, s in enumerate(sources.is_valid().to_pylist())], pa.int32())
    offsets = pa.concat_arrays([offsets, pa.array([count * width], pa.int32())])
    return pa.MapArray.from_arrays(offsets, names, values)


DEBEZIUM_AVRO: Final = replace(
    DEBEZIUM,
    error_prefix="Can't deserialize Debezium Avro message.",
    metadata={
        "ingestion-timestamp": Metadata(MILLIS, "ts_ms", pa.int64(), from_millis),
        "source.timestamp": Metadata(MILLIS, "source", _source_type("ts_ms"), source_timestamp),
        "source.database": _source_metadata("db"),
        "source.schema": _source_metadata("schema"),
        "source.table": _source_metadata("table"),
        "source.properties": Metadata(SOURCE, "source", _source_type(*_PROPERTIES), _source_properties),
    },
)


class _DocumentDecoder:
    """Decodes documents, which are whole change events; treats empty payloads like null ones."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        is_empty = pc.equal(pc.binary_length(payloads), 0)
        if pc.any(is_empty).as_py():
            payloads = pc.if_else(is_empty, None, payloads)
        return self._decoder.decode(payloads, errors)


def _decoder(schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> Decoder:
    from kafka_sql.formats.avro_confluent.decoder import AvroConfluentDecoder

    def create_document_decoder(document: pa.Schema) -> Decoder:
        declared = _with_declared_types(document, schema, nullable=True)
        avro = _reader_schema(declared, options)
        return _DocumentDecoder(AvroConfluentDecoder(document, avro, OPTIONS, options))

    return ChangeDecoder(
        DEBEZIUM_AVRO, create_document_decoder, schema, metadata, has_envelope=False, ignore_errors=False
    )


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.avro.encoder import AvroWriter
    from kafka_sql.formats.confluent.encoder import WireFormatEncoder

    def create_document_encoder(document: pa.Schema) -> Encoder:
        if options.get(OPTIONS.schema) is None:
            declared = _with_declared_types(document, schema, nullable=False)
            text = f'["null",{derive_schema(declared, legacy=True, lenient=True)}]'
        else:
            text = table_schema(document, OPTIONS, options)
        return WireFormatEncoder(AvroWriter(document, parse_schema(text)).encode, text, OPTIONS, options)

    return ChangeEncoder(DEBEZIUM_AVRO, create_document_encoder, schema)


def _reader_schema(document: pa.Schema, options: Options) -> AvroType:
    """Return a record whose fields are the document's."""
    text = options.get(OPTIONS.schema)
    derived = parse_schema(derive_schema(document, legacy=True, lenient=True))
    if text is None:
        return derived
    try:
        avro = parse_schema(text)
    except ValueError as e:
        raise SchemaError(f"The Avro schema of option '{OPTIONS.schema.key}' {e}.") from e
    record = avro.find_record() or avro
    fields = {field.name: field for field in record.fields}
    derived_fields = {field.name: field for field in derived.fields}
    row_fields = DEBEZIUM_AVRO.new_field, DEBEZIUM_AVRO.old_field
    if any(name not in fields for name in (*row_fields, DEBEZIUM_AVRO.operation_field)) or any(
        [f.name for f in _row_type(fields[name].type).fields] != [f.name for f in document.field(name).type]
        for name in row_fields
    ):
        raise SchemaError(
            f"Schema provided for '{OPTIONS.format}' format (option '{OPTIONS.schema.key}') must be a nullable record "
            "type with fields 'before', 'after', 'op', and the fields of 'before' and 'after' must be the columns of "
            f"the table: {', '.join(f.name for f in document.field(DEBEZIUM_AVRO.new_field).type)}."
        )
    return replace(record, fields=tuple(fields.get(name, derived_fields[name]) for name in document.names))


def _row_type(avro: AvroType) -> AvroType:
    """Return the record of a nullable record, or the type itself if it is another one."""
    return avro.find_record() or avro


def _infer_columns(registered: RegisteredSchema) -> ColumnTypes:
    """Return the columns of the database's row."""
    event = _row_type(parse_schema(registered.text, registered.reference_texts))
    row = next((_row_type(f.type) for f in event.fields if f.name == DEBEZIUM_AVRO.new_field), None)
    if row is None or row.type_name != "record":
        raise ValueError(f"is {event}, expected a record with a record in the field '{DEBEZIUM_AVRO.new_field}'")
    return infer_record_columns(row)


def _with_declared_types(document: pa.Schema, schema: pa.Schema, nullable: bool) -> pa.Schema:
    """Return the document's schema with the declared types of the columns, or with nullable ones."""
    types = [(f.metadata or {}).get(DECLARED_TYPE, b"").decode() for f in schema]
    if nullable:
        types = [type.removesuffix(" NOT NULL") for type in types]
    if not all(types):
        return document
    row = "ROW<" + ", ".join(f"c {type}" for type in types) + ">"
    row_fields = (DEBEZIUM_AVRO.new_field, DEBEZIUM_AVRO.old_field)
    return pa.schema([f.with_metadata({DECLARED_TYPE: row}) if f.name in row_fields else f for f in document])


DEBEZIUM_AVRO_CONFLUENT: Final = Format(
    OPTIONS.format,
    OPTIONS.all,
    _decoder,
    _encoder,
    insert_only=False,
    metadata={ROW_KIND: pa.string(), **DEBEZIUM_AVRO.metadata_types},
    infer_schema=infer_from_registry(OPTIONS, _infer_columns, store_schema=False),
)
