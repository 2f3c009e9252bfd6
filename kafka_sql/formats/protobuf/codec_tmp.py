"""The two directions of the protobuf format: a payload is a message."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor

from kafka_sql.errors import InvalidOptionError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.format import Decoded, ErrorSink
from kafka_sql.formats.protobuf import descriptors
from kafka_sql.formats.protobuf.decoder import ProtobufReader
from kafka_sql.formats.protobuf.encoder import ProtobufWriter
from kafka_sql.formats.protobuf.options import (
    DESCRIPTOR,
    IGNORE_PARSE_ERRORS,
    MESSAGE,
    READ_DEFAULT_VALUES,
    WRITE_NULL_STRING_LITERAL,
)
from kafka_sql.options import Options, allowed_paths


def load_message(options: Options) -> Descriptor:
    """The message that the options name.

    Raises:
        InvalidOptionError: the file cannot be read, or has no such message.
    """
    location = options[DESCRIPTOR]
    try:
        data = allowed_paths.read_allowed(location)
    except OSError as e:
        raise InvalidOptionError(
            f"The file of option '{DESCRIPTOR.key}' cannot be read: {location}: {e.strerror}. It must be there on the "
            "driver and on each executor."
        ) from e
    try:
        return _message(data, options[MESSAGE])
    except ValueError as e:
        raise InvalidOptionError(
            f"The file of option '{DESCRIPTOR.key}', {location}, {e} (option '{MESSAGE.key}')."
        ) from e


_message = lru_cache(maxsize=64)(descriptors.find_message)


class ProtobufDecoder:
    """Decodes messages; a null payload is no row."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            InvalidOptionError: there is no such message.
            SchemaError: a column has no field, or one of another type.
        """
        self._reader = ProtobufReader(
            schema,
            load_message(options),
            read_defaults=options[READ_DEFAULT_VALUES],
            ignore_errors=options[IGNORE_PARSE_ERRORS],
        )

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: the first payload in error, unless errors are ignored or ``bad`` takes them.
        """
        kept = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        data, offsets = bytes_and_offsets(payloads)
        places = offsets.astype(np.int64)
        columns, rows = self._reader.read(data, places[kept], places[kept + 1], kept, errors)
        return Decoded(columns, None if len(rows) == len(payloads) else pa.array(rows, pa.int64()))


class ProtobufEncoder:
    """Encodes rows as messages."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            InvalidOptionError: there is no such message.
            SchemaError: a column has no field, or one of another type.
        """
        self._writer = ProtobufWriter(schema, load_message(options), options[WRITE_NULL_STRING_LITERAL])

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """One payload a row.

        Raises:
            EncodeError: a value has no form in the message.
        """
        return self._writer.write(batch)
