"""Decode JSON documents in Confluent's wire format."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.confluent.decoder import metadata_columns
from kafka_sql.formats.confluent.wire_format import HEADER_SIZE, missing_header_errors, schema_ids, split_by_header
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise
from kafka_sql.formats.json.decoder import JsonDecoder
from kafka_sql.formats.json.options import IGNORE_PARSE_ERRORS, to_json_options
from kafka_sql.formats.json_confluent.options import REGISTRY, RENAMED_JSON_OPTIONS
from kafka_sql.options import Options
from kafka_sql.runtime import arrow_compute as pc


class JsonConfluentDecoder:
    """Decodes documents, without looking at their schemas; skips null payloads."""

    def __init__(self, schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> None:
        json_options = to_json_options(RENAMED_JSON_OPTIONS, options)
        self._decoder, self._ignore_errors = JsonDecoder(schema, json_options), json_options[IGNORE_PARSE_ERRORS]
        self._metadata, self._subject = metadata, options.get(REGISTRY.subject)

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads; see ``Decoder``."""
        present = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        data, offsets = bytes_and_offsets(payloads)
        skip_malformed = self._ignore_errors or errors is not None
        framed, malformed = split_by_header(data, offsets, present, skip_malformed=skip_malformed)
        with_headers = payloads if len(framed) == len(payloads) else payloads.take(framed)
        documents = pc.binary_replace_slice(with_headers, 0, HEADER_SIZE, b"")
        document_errors: list[DecodeError] = []
        try:
            decoded = self._decoder.decode(documents, None if errors is None else document_errors)
        except DecodeError as e:
            raise DecodeError(int(framed[e.row]), e.field, e.reason) from e
        for error in document_errors:
            report_or_raise(errors, DecodeError(int(framed[error.row]), error.field, error.reason))
        for error in [] if self._ignore_errors else missing_header_errors(data, offsets, malformed):
            report_or_raise(errors, error)
        is_one_to_one = decoded.payload_indices is None and len(framed) == len(payloads)
        indices = framed if decoded.payload_indices is None else framed[np.asarray(decoded.payload_indices)]
        ids = schema_ids(data, offsets, indices) if self._metadata else np.empty(0, np.uint32)
        metadata = metadata_columns(self._metadata, ids, self._subject)
        return Decoded(decoded.columns, None if is_one_to_one else pa.array(indices, pa.int64()), metadata)
