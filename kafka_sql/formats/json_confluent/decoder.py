"""JSON documents in Confluent's wire format, to columns and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.confluent.decoder import metadata_columns as metadata_of
from kafka_sql.formats.confluent.wire_format import missing_header_errors, schema_ids, split_by_header, strip_headers
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise
from kafka_sql.formats.json.decoder import JsonDecoder
from kafka_sql.formats.json.encoder import JsonEncoder
from kafka_sql.formats.json.options import IGNORE_PARSE_ERRORS, of_json
from kafka_sql.formats.json_confluent.options import OF_JSON, REGISTRY
from kafka_sql.options import Options


class JsonConfluentDecoder:
    """Decodes framed JSON, for which no schema is needed; a null payload is no row."""

    def __init__(self, schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> None:
        """
        Args:
            metadata: ``schema-id``, ``subject``: what to give besides the columns.

        Raises:
            SchemaError: a column has no form in JSON.
            ConflictingOptionsError: two options contradict each other.
        """
        own = of_json(OF_JSON, options)
        self._documents, self._ignore = JsonDecoder(schema, own), own[IGNORE_PARSE_ERRORS]
        self._metadata, self._subject = metadata, options.get(REGISTRY.subject)

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: the first payload in error, unless errors are ignored or ``bad`` takes them.
        """
        kept = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        data, offsets = bytes_and_offsets(payloads)
        good, headless = split_by_header(data, offsets, kept, skips=self._ignore or errors is not None)
        documents = strip_headers(payloads if len(good) == len(payloads) else payloads.take(good))
        wrong: list[DecodeError] = []
        try:
            made = self._documents.decode(documents, None if errors is None else wrong)
        except DecodeError as e:
            raise DecodeError(int(good[e.row]), e.field, e.reason) from e
        for error in wrong:
            report_or_raise(errors, DecodeError(int(good[error.row]), error.field, error.reason))
        for error in [] if self._ignore else missing_header_errors(data, offsets, headless):
            report_or_raise(errors, error)
        origins = good if made.payload_indices is None else good[np.asarray(made.payload_indices)]
        aligned = made.payload_indices is None and len(good) == len(payloads)
        found = schema_ids(data, offsets, origins) if self._metadata else np.empty(0, np.uint32)
        rows = None if aligned else pa.array(origins, pa.int64())
        return Decoded(made.columns, rows, metadata_of(self._metadata, found, self._subject))


class JsonWriter:
    """Writes rows as JSON objects."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no form in JSON.
        """
        self._documents = JsonEncoder(schema, of_json(OF_JSON, options))

    def write(self, batch: pa.RecordBatch, header: bytes = b"") -> pa.BinaryArray:
        """One payload a row, each with ``header`` before it.

        Raises:
            EncodeError: a date lies too far off to be written.
        """
        return pc.binary_join_element_wise(header, self._documents.encode(batch), b"")
