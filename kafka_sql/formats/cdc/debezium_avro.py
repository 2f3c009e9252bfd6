"""debezium-avro-confluent: what Debezium's connectors write with Confluent's Avro converter.

Facts: flink-avro-confluent-registry's DebeziumAvroDecodingFormat and its schemas.
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
from kafka_sql.formats.cdc.debezium import DEBEZIUM
from kafka_sql.formats.cdc.decoder import ChangeDecoder
from kafka_sql.formats.cdc.dialect import MILLIS, SOURCE, Metadata, from_millis
from kafka_sql.formats.cdc.encoder import ChangeEncoder
from kafka_sql.formats.confluent.options import declare_registry_options
from kafka_sql.formats.confluent.registry_schema import RegisteredSchema
from kafka_sql.formats.confluent.schema_inference import ColumnTypes, infer_from_registry
from kafka_sql.formats.declared_types import DECLARED_TYPE
from kafka_sql.formats.format import Decoded, Decoder, Encoder, ErrorSink, Format
from kafka_sql.options import Options
from kafka_sql.table.changelog import ROW_KIND

OPTIONS: Final = declare_registry_options(
    "debezium-avro-confluent",
    "AVRO",
    "An Avro schema for reading and writing: a nullable record with the fields 'before', 'after' and 'op', of which "
    "the first two have the table's columns as their fields, in order. By default it is derived from the columns.",
)
_TIMES: Final = ("ts_ms",)
_PROPERTIES: Final = (
    "version",
    "connector",
    "name",
    *_TIMES,
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


def _source(*keys: str) -> pa.DataType:
    return pa.struct([(key, pa.int64() if key in _TIMES else pa.string()) for key in keys])


def _of_source(key: str) -> Metadata:
    return Metadata(pa.string(), "source", _source(key), lambda sources: pc.struct_field(sources, key))


def _time(sources: pa.StructArray) -> pa.Array:
    return from_millis(pc.struct_field(sources, "ts_ms"))


def _properties(sources: pa.StructArray) -> pa.MapArray:
    """Every property that Flink knows of, as text."""
    count, width = len(sources), len(_PROPERTIES)
    names = pa.array(_PROPERTIES * count, pa.string())
    columns = [pc.struct_field(sources, key).cast(pa.string()) for key in _PROPERTIES]
    at = pa.array([k * count + i for i in range(count) for k in range(width)], pa.int64())
    values = pa.concat_arrays([pa.array([], pa.string()), *columns]).take(at)
    offsets = pa.array([None if not s else i * width for i, s in enumerate(sources.is_valid().to_pylist())], pa.int32())
    offsets = pa.concat_arrays([offsets, pa.array([count * width], pa.int32())])
    return pa.MapArray.from_arrays(offsets, names, values)


DEBEZIUM_AVRO: Final = replace(
    DEBEZIUM,
    error_prefix="Can't deserialize Debezium Avro message.",
    metadata={
        "ingestion-timestamp": Metadata(MILLIS, "ts_ms", pa.int64(), from_millis),
        "source.timestamp": Metadata(MILLIS, "source", _source("ts_ms"), _time),
        "source.database": _of_source("db"),
        "source.schema": _of_source("schema"),
        "source.table": _of_source("table"),
        "source.properties": Metadata(SOURCE, "source", _source(*_PROPERTIES), _properties),
    },
)


class _Documents:
    """Decodes documents; an empty payload is none, too."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        empty = pc.equal(pc.binary_length(payloads), 0)
        return self._decoder.decode(pc.if_else(empty, None, payloads) if pc.any(empty).as_py() else payloads, errors)


def _decoder(schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> Decoder:
    from kafka_sql.formats.avro_confluent.decoder import create_decoder

    def documents(document: pa.Schema) -> Decoder:
        known = _with_types(document, schema, nullable=True)
        return _Documents(create_decoder(document, _reading_schema(known, options), OPTIONS, options))

    return ChangeDecoder(DEBEZIUM_AVRO, documents, schema, metadata, wrapped=False, ignore_errors=False)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.avro_confluent.encoder import create_encoder

    def documents(document: pa.Schema) -> Encoder:
        known = _with_types(document, schema, nullable=False)
        given = options.get(OPTIONS.schema)
        text = (
            f'["null",{derive_schema(known, True, True)}]'
            if given is None
            else table_schema(document, OPTIONS, options)
        )
        return create_encoder(document, text, OPTIONS, options)

    return ChangeEncoder(DEBEZIUM_AVRO, documents, schema)


def _reading_schema(document: pa.Schema, options: Options) -> AvroType:
    """A record whose fields are the document's."""
    given = options.get(OPTIONS.schema)
    if given is None:
        return parse_schema(derive_schema(document, True, True))
    try:
        found = parse_schema(given)
    except ValueError as e:
        raise SchemaError(f"The Avro schema of option '{OPTIONS.schema.key}' {e}.") from e
    record = found.find_record() or found
    fields = {field.name: field for field in record.fields}
    derived = {field.name: field for field in parse_schema(derive_schema(document, True, True)).fields}
    state = DEBEZIUM_AVRO.new_field, DEBEZIUM_AVRO.old_field, DEBEZIUM_AVRO.operation_field
    if any(name not in fields for name in state) or any(
        [f.name for f in _record(fields[name].type).fields] != [f.name for f in document.field(name).type]
        for name in state[:2]
    ):
        raise SchemaError(
            f"Schema provided for '{OPTIONS.format}' format (option '{OPTIONS.schema.key}') must be a nullable record "
            "type with fields 'before', 'after', 'op', and the fields of 'before' and 'after' must be the columns of "
            f"the table: {', '.join(f.name for f in document.field(DEBEZIUM_AVRO.new_field).type)}."
        )
    return replace(record, fields=tuple(fields.get(name, derived[name]) for name in document.names))


def _record(t: AvroType) -> AvroType:
    return next((b for b in t.items if b.type_name == "record"), t) if t.type_name == "union" else t


def _columns(registered: RegisteredSchema) -> ColumnTypes:
    """The columns of the database's row."""
    found = _record(parse_schema(registered.text, [text for _, text in registered.references]))
    state = next((_record(f.type) for f in found.fields if f.name == DEBEZIUM_AVRO.new_field), None)
    if state is None or state.type_name != "record":
        raise ValueError(f"is {found}, expected a record with a record in the field '{DEBEZIUM_AVRO.new_field}'")
    return infer_record_columns(state)


def _with_types(document: pa.Schema, schema: pa.Schema, nullable: bool) -> pa.Schema:
    """The document's schema, with the types of the columns as they are declared."""
    texts = [(f.metadata or {}).get(DECLARED_TYPE, b"").decode() for f in schema]
    if nullable:
        texts = [text.removesuffix(" NOT NULL") for text in texts]
    if not all(texts):
        return document
    row = "ROW<" + ", ".join(f"c {text}" for text in texts) + ">"
    states = (DEBEZIUM_AVRO.new_field, DEBEZIUM_AVRO.old_field)
    return pa.schema([f.with_metadata({DECLARED_TYPE: row}) if f.name in states else f for f in document])


DEBEZIUM_AVRO_CONFLUENT: Final = Format(
    OPTIONS.format,
    OPTIONS.all,
    _decoder,
    _encoder,
    insert_only=False,
    metadata={ROW_KIND: pa.string(), **{key: known.type for key, known in DEBEZIUM_AVRO.metadata.items()}},
    metadata_decoder=_decoder,
    infer_schema=infer_from_registry(OPTIONS, _columns, keep=False),
)
