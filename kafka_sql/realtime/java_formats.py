"""Create the Java objects that decode and encode the payloads of a table, from its formats' options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from json import dumps
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from kafka_sql.formats.avro.options import LEGACY_TIMESTAMPS
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.formats.avro_confluent.options import AVRO_CONFLUENT_OPTIONS
from kafka_sql.formats.avro_confluent.schema_from_table import table_schema
from kafka_sql.formats.confluent.encoder import WireFormatEncoder
from kafka_sql.formats.confluent.schemas import RegisteredSchema
from kafka_sql.formats.csv import options as csv
from kafka_sql.formats.java.times import TimestampStandard
from kafka_sql.formats.json import options as json
from kafka_sql.formats.json.fallback import has_decimal
from kafka_sql.formats.json_confluent.options import RENAMED_JSON_OPTIONS
from kafka_sql.formats.payload import Payload
from kafka_sql.formats.protobuf import options as protobuf
from kafka_sql.formats.protobuf_confluent import options as protobuf_confluent
from kafka_sql.formats.raw import options as raw
from kafka_sql.realtime.writer_schemas import serve_schemas
from kafka_sql.spark.jvm import java_type


@dataclass(frozen=True)
class JavaPayload:
    """A payload for which Java objects are created.

    Attributes:
        gateway: py4j's gateway to the session's JVM.
        types, schema: its fields in Spark's and in Arrow's types.
        table_schema: the table's columns in Arrow's types.
        precisions: digits of the fractional seconds of each field.
    """

    gateway: Any
    payload: Payload
    types: StructType
    schema: pa.Schema
    table_schema: pa.Schema
    precisions: Sequence[int]

    @property
    def classes(self) -> Any:
        """The package of the classes."""
        return self.gateway.jvm.io.github.kafkasql.realtime

    @property
    def formats(self) -> Any:
        """The package of the decoders and encoders."""
        return self.gateway.jvm.io.github.kafkasql.formats

    @property
    def java_types(self) -> Any:
        """The fields as a StructType of the JVM."""
        return java_type(self.gateway, self.types)

    @property
    def java_precisions(self) -> Any:
        """The precisions as an array of the JVM."""
        array = self.gateway.new_array(self.gateway.jvm.int, len(self.precisions))
        for i, precision in enumerate(self.precisions):
            array[i] = precision
        return array


def create_decoder(java: JavaPayload, errors: Any) -> Any:
    """Return the decoder: a PayloadDecoder. ``errors`` is an ErrorHandling of the JVM."""
    payload, formats, types = java.payload, java.formats, java.java_types
    payload.create_decoder(java.table_schema)  # checks the columns and the options
    match payload.format.identifier:
        case "json":
            return formats.json.JsonDecoder(types, _json_options(java), errors)
        case "json-confluent":
            return formats.json.JsonConfluentDecoder(types, _json_options(java), errors)
        case "csv":
            return formats.csv.CsvDecoder(types, _csv_options(java), errors)
        case "raw":
            return formats.raw.RawDecoder(types, _raw_options(java), errors)
        case "avro":
            return formats.avro.AvroDecoder(types, _avro_schema(java), errors)
        case "avro-confluent":
            schema = table_schema(java.schema, AVRO_CONFLUENT_OPTIONS, payload.options)
            return formats.avro.AvroConfluentDecoder(types, schema, _served_name(java), errors)
        case "protobuf":
            return formats.protobuf.ProtobufDecoder(types, *_message(java), *_protobuf_flags(java, protobuf), errors)
    flags = _protobuf_flags(java, protobuf_confluent)
    return formats.protobuf.ProtobufConfluentDecoder(types, _served_name(java), *flags, errors)


def create_encoder(java: JavaPayload) -> Any:
    """Return the encoder: a PayloadEncoder. A schema is registered."""
    payload, formats, types, precisions = java.payload, java.formats, java.java_types, java.java_precisions
    registered = payload.create_encoder(java.table_schema)  # checks the columns and the options
    text = registered.text if isinstance(registered, WireFormatEncoder) else ""
    match payload.format.identifier:
        case "json" | "json-confluent":
            encoder = formats.json.JsonEncoder(types, precisions, _json_options(java))
        case "csv":
            encoder = formats.csv.CsvEncoder(types, precisions, _csv_options(java))
        case "raw":
            encoder = formats.raw.RawEncoder(types, _raw_options(java))
        case "avro" | "avro-confluent":
            encoder = formats.avro.AvroEncoder(types, precisions, text or _avro_schema(java))
        case "protobuf":
            null_literal = payload.options[protobuf.WRITE_NULL_STRING_LITERAL]
            encoder = formats.protobuf.ProtobufEncoder(types, precisions, *_message(java), null_literal)
        case _:
            null_literal = payload.options[protobuf_confluent.WRITE_NULL_STRING_LITERAL]
            message = _registered_message(java, text)
            encoder = formats.protobuf.ProtobufEncoder(types, precisions, *message, null_literal)
    if isinstance(registered, WireFormatEncoder):
        return formats.confluent.WireFormatEncoder(types, bytearray(registered.header()), encoder)
    return encoder


def _served_name(java: JavaPayload) -> str:
    return serve_schemas(java.gateway, java.payload, java.table_schema)


def _json_options(java: JavaPayload) -> Any:
    options = java.payload.options
    if java.payload.format.identifier != "json":
        options = json.to_json_options(RENAMED_JSON_OPTIONS, options)
    values = {
        "fail_on_missing": options[json.FAIL_ON_MISSING_FIELD],
        "ignore_errors": options[json.IGNORE_PARSE_ERRORS],
        "standard": TimestampStandard(options[json.TIMESTAMP_FORMAT]).name,
        "missing_option": options.key(json.FAIL_ON_MISSING_FIELD),
        "has_decimals": any(has_decimal(field.type) for field in java.schema),
        "plain_decimals": options[json.DECIMAL_AS_PLAIN_NUMBER],
        "skip_nulls": options[json.IGNORE_NULL_FIELDS],
    }
    return java.formats.json.JsonOptions.parse(dumps(values))


def _csv_options(java: JavaPayload) -> Any:
    options = java.payload.options
    values = {**asdict(csv.parse_dialect(options)), "plain_decimals": not options.get(csv.SCIENTIFIC)}
    return java.formats.csv.CsvOptions.parse(dumps(values))


def _avro_schema(java: JavaPayload) -> str:
    return derive_schema(java.schema, java.payload.options[LEGACY_TIMESTAMPS])


def _protobuf_flags(java: JavaPayload, keys: Any) -> tuple[bool, bool]:
    options = java.payload.options
    return options[keys.READ_DEFAULT_VALUES], options[keys.IGNORE_PARSE_ERRORS]


def _message(java: JavaPayload) -> tuple[bytearray, str]:
    """Return the files and the name of a message."""
    from kafka_sql.formats.protobuf.descriptors import load_message, message_files

    message = load_message(java.payload.options)
    return bytearray(message_files(message)), message.full_name


def _registered_message(java: JavaPayload, text: str) -> tuple[bytearray, str]:
    """Return the files and the name of a schema's message."""
    from kafka_sql.formats.protobuf.descriptors import message_files
    from kafka_sql.formats.protobuf_confluent.schema_descriptors import select_message

    message = select_message(RegisteredSchema(0, text), java.payload.options.get(protobuf_confluent.MESSAGE))
    return bytearray(message_files(message)), message.full_name


def _raw_options(java: JavaPayload) -> Any:
    options = java.payload.options
    values = {
        "charset": options[raw.CHARSET].java_name,  # not None: see check_source
        "is_big_endian": options[raw.ENDIANNESS] == raw.BIG_ENDIAN,
        "line_delimiter": options.get(raw.LINE_DELIMITER),
    }
    return java.formats.raw.RawOptions.parse(dumps(values))
