"""Create the Java objects that decode and encode the payloads of a table, from its formats' options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from json import dumps
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import StructType

from kafka_sql.formats.avro.options import LEGACY_TIMESTAMPS
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.formats.avro_confluent.options import AVRO_CONFLUENT_OPTIONS
from kafka_sql.formats.avro_confluent.schema_from_table import table_schema
from kafka_sql.formats.confluent.encoder import WireFormatEncoder
from kafka_sql.formats.confluent.registry_schema import RegisteredSchema
from kafka_sql.formats.csv import options as csv
from kafka_sql.formats.java.times import TimestampStandard
from kafka_sql.formats.json import options as json
from kafka_sql.formats.json.fallback import has_decimal
from kafka_sql.formats.json_confluent.options import RENAMED_JSON_OPTIONS
from kafka_sql.formats.payload import Payload
from kafka_sql.formats.protobuf import options as protobuf
from kafka_sql.formats.protobuf_confluent import options as protobuf_confluent
from kafka_sql.formats.raw import options as raw
from kafka_sql.options import Options
from kafka_sql.realtime.java_charsets import java_charset
from kafka_sql.realtime.writer_schemas import serve_schemas
from kafka_sql.spark.jvm import java_type


@dataclass(frozen=True)
class JavaPayload:
    """A payload for which Java objects are created.

    Attributes:
        gateway: py4j's gateway to the session's JVM.
        payload: the key or value of a table's records.
        types: its fields in Spark's types.
        schema: its fields in Arrow's types.
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
    """Return the decoder: a PayloadDecoder.

    Args:
        errors: an ErrorHandling of the JVM.
    """
    return _FORMATS[java.payload.format.identifier][0](java, errors)


def create_encoder(java: JavaPayload) -> Any:
    """Return the encoder: a PayloadEncoder."""
    return _FORMATS[java.payload.format.identifier][1](java)


def _json_decoder(java: JavaPayload, errors: Any) -> Any:
    return java.formats.json.JsonDecoder(java.java_types, _json_options(java, java.payload.options), errors)


def _json_encoder(java: JavaPayload) -> Any:
    options = _json_options(java, java.payload.options)
    return java.formats.json.JsonEncoder(java.java_types, java.java_precisions, options)


def _json_confluent_decoder(java: JavaPayload, errors: Any) -> Any:
    java.payload.create_decoder(java.table_schema)  # checks the columns and the options
    options = _json_options(java, json.to_json_options(RENAMED_JSON_OPTIONS, java.payload.options))
    return java.formats.json.JsonConfluentDecoder(java.java_types, options, errors)


def _json_confluent_encoder(java: JavaPayload) -> Any:
    options = _json_options(java, json.to_json_options(RENAMED_JSON_OPTIONS, java.payload.options))
    encoder = java.formats.json.JsonEncoder(java.java_types, java.java_precisions, options)
    return _with_header(java, _registry_encoder(java), encoder)


def _json_options(java: JavaPayload, options: Options) -> Any:
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


def _csv_decoder(java: JavaPayload, errors: Any) -> Any:
    return java.formats.csv.CsvDecoder(java.java_types, _csv_options(java), errors)


def _csv_encoder(java: JavaPayload) -> Any:
    return java.formats.csv.CsvEncoder(java.java_types, java.java_precisions, _csv_options(java))


def _csv_options(java: JavaPayload) -> Any:
    options = java.payload.options
    values = {**asdict(csv.parse_dialect(options)), "plain_decimals": not options.get(csv.SCIENTIFIC)}
    return java.formats.csv.CsvOptions.parse(dumps(values))


def _avro_decoder(java: JavaPayload, errors: Any) -> Any:
    return java.formats.avro.AvroDecoder(java.java_types, _avro_schema(java), errors)


def _avro_encoder(java: JavaPayload) -> Any:
    return java.formats.avro.AvroEncoder(java.java_types, java.java_precisions, _avro_schema(java))


def _avro_schema(java: JavaPayload) -> str:
    return derive_schema(java.schema, java.payload.options[LEGACY_TIMESTAMPS])


def _avro_confluent_decoder(java: JavaPayload, errors: Any) -> Any:
    java.payload.create_decoder(java.table_schema)  # checks the columns and the registry's settings
    schema = table_schema(java.schema, AVRO_CONFLUENT_OPTIONS, java.payload.options)
    name = serve_schemas(java.gateway, java.payload, java.table_schema)
    return java.formats.avro.AvroConfluentDecoder(java.java_types, schema, name, errors)


def _avro_confluent_encoder(java: JavaPayload) -> Any:
    registered = _registry_encoder(java)
    encoder = java.formats.avro.AvroEncoder(java.java_types, java.java_precisions, registered.text)
    return _with_header(java, registered, encoder)


def _protobuf_decoder(java: JavaPayload, errors: Any) -> Any:
    from kafka_sql.formats.protobuf.descriptors import load_message

    java.payload.create_decoder(java.table_schema)  # checks the columns
    options = java.payload.options
    java_options = java.formats.protobuf.ProtobufOptions(
        options[protobuf.READ_DEFAULT_VALUES], options[protobuf.IGNORE_PARSE_ERRORS]
    )
    files, name = _message(load_message(options))
    return java.formats.protobuf.ProtobufDecoder(java.java_types, files, name, java_options, errors)


def _protobuf_encoder(java: JavaPayload) -> Any:
    from kafka_sql.formats.protobuf.descriptors import load_message

    java.payload.create_encoder(java.table_schema)  # checks the columns, and that required fields have one
    options = java.payload.options
    return _message_encoder(java, load_message(options), options[protobuf.WRITE_NULL_STRING_LITERAL])


def _protobuf_confluent_decoder(java: JavaPayload, errors: Any) -> Any:
    java.payload.create_decoder(java.table_schema)  # checks the registry's settings
    options = java.payload.options
    java_options = java.formats.protobuf.ProtobufOptions(
        options[protobuf_confluent.READ_DEFAULT_VALUES], options[protobuf_confluent.IGNORE_PARSE_ERRORS]
    )
    name = serve_schemas(java.gateway, java.payload, java.table_schema)
    return java.formats.protobuf.ProtobufConfluentDecoder(java.java_types, name, java_options, errors)


def _protobuf_confluent_encoder(java: JavaPayload) -> Any:
    from kafka_sql.formats.protobuf_confluent.message_indexes import encode_indexes
    from kafka_sql.formats.protobuf_confluent.schema_descriptors import select_message

    registered, options = _registry_encoder(java), java.payload.options
    message = select_message(RegisteredSchema(0, registered.text), options.get(protobuf_confluent.MESSAGE))
    encoder = _message_encoder(java, message, options[protobuf_confluent.WRITE_NULL_STRING_LITERAL])
    return _with_header(java, registered, encoder, encode_indexes(message))


def _message_encoder(java: JavaPayload, message: Any, null_literal: str) -> Any:
    types, precisions = java.java_types, java.java_precisions
    return java.formats.protobuf.ProtobufEncoder(types, precisions, *_message(message), null_literal)


def _message(message: Any) -> tuple[bytearray, str]:
    """Return the files and the name of a message."""
    from kafka_sql.formats.protobuf.descriptors import message_files

    return bytearray(message_files(message)), message.full_name


def _registry_encoder(java: JavaPayload) -> WireFormatEncoder:
    encoder = java.payload.create_encoder(java.table_schema)
    assert isinstance(encoder, WireFormatEncoder)
    return encoder


def _with_header(java: JavaPayload, registered: WireFormatEncoder, encoder: Any, indexes: bytes = b"") -> Any:
    """Return an encoder with a header, after registering its schema.

    Args:
        indexes: what follows the header.
    """
    return java.formats.confluent.WireFormatEncoder(java.java_types, bytearray(registered.header() + indexes), encoder)


def _raw_decoder(java: JavaPayload, errors: Any) -> Any:
    return java.formats.raw.RawDecoder(java.java_types, _raw_options(java), errors)


def _raw_encoder(java: JavaPayload) -> Any:
    return java.formats.raw.RawEncoder(java.java_types, _raw_options(java))


def _raw_options(java: JavaPayload) -> Any:
    options = java.payload.options
    values = {
        "charset": java_charset(options[raw.CHARSET].name),  # not None: see check_source
        "is_big_endian": options[raw.ENDIANNESS] == raw.BIG_ENDIAN,
        "line_delimiter": options.get(raw.LINE_DELIMITER),
    }
    return java.formats.raw.RawOptions.parse(dumps(values))


_FORMATS: Final[Mapping[str, tuple[Callable[[JavaPayload, Any], Any], Callable[[JavaPayload], Any]]]] = {
    "avro": (_avro_decoder, _avro_encoder),
    "avro-confluent": (_avro_confluent_decoder, _avro_confluent_encoder),
    "json": (_json_decoder, _json_encoder),
    "json-confluent": (_json_confluent_decoder, _json_confluent_encoder),
    "csv": (_csv_decoder, _csv_encoder),
    "protobuf": (_protobuf_decoder, _protobuf_encoder),
    "protobuf-confluent": (_protobuf_confluent_decoder, _protobuf_confluent_encoder),
    "raw": (_raw_decoder, _raw_encoder),
}
