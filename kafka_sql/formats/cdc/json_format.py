"""Decode and encode the JSON documents of a dialect, with the json format's options under the dialect's name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_sql.formats.cdc.decoder import ENVELOPE_PAYLOAD, ChangeDecoder, PayloadFilter
from kafka_sql.formats.cdc.dialect import Dialect
from kafka_sql.formats.cdc.encoder import ChangeEncoder
from kafka_sql.formats.format import ColumnTypes, ErrorSink, Format
from kafka_sql.formats.json.options import (
    FAIL_ON_MISSING_FIELD,
    IGNORE_PARSE_ERRORS,
    JSON_OPTIONS,
    OptionMapping,
    rename_options,
    to_json_options,
)
from kafka_sql.options import Option, Options
from kafka_sql.table.changelog import ROW_KIND


@dataclass(frozen=True)
class JsonDialect:
    """A dialect whose documents are JSON."""

    identifier: str  # of the format
    dialect: Dialect
    # whether payloads are in an envelope with their schema. Such a topic can only be read.
    envelope_option: Option[bool] | None = None
    # options with the pattern that a field of the documents must match, by the field's name
    filters: Mapping[str, Option[Any]] = field(default_factory=dict)

    def format(self) -> Format:
        """Return the format."""
        envelope_options = [] if self.envelope_option is None else [self.envelope_option]
        return Format(
            self.identifier,
            (*envelope_options, *self.filters.values(), *self._json_options.values()),
            self.create_decoder,
            self.create_encoder,
            insert_only=False,
            metadata={ROW_KIND: pa.string(), **self.dialect.metadata_types},
            infer_from_payloads=self.infer_from_payloads,
        )

    @cached_property
    def _json_options(self) -> OptionMapping:
        return rename_options(self.identifier, [o for o in JSON_OPTIONS if o is not FAIL_ON_MISSING_FIELD])

    def _has_envelope(self, options: Options) -> bool:
        return self.envelope_option is not None and options[self.envelope_option]

    def create_decoder(self, schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> ChangeDecoder:
        """Return the decoder of a table."""
        from kafka_sql.formats.json.decoder import JsonDecoder

        json_options = to_json_options(self._json_options, options)
        return ChangeDecoder(
            self.dialect,
            lambda document: JsonDecoder(document, json_options, splits_arrays=False),
            schema,
            metadata,
            has_envelope=self._has_envelope(options),
            ignore_errors=json_options[IGNORE_PARSE_ERRORS],
            payload_filter=_payload_filter(self.filters, options),
        )

    def create_encoder(self, schema: pa.Schema, options: Options) -> ChangeEncoder:
        """Return the encoder of a table."""
        from kafka_sql.formats.json.encoder import JsonEncoder

        json_options = to_json_options(self._json_options, options)
        read_only_option = self.envelope_option if self._has_envelope(options) else None
        return ChangeEncoder(
            self.dialect, lambda document: JsonEncoder(document, json_options), schema, read_only_option
        )

    def infer_from_payloads(self, payloads: Sequence[bytes], options: Options, errors: ErrorSink) -> ColumnTypes:
        """Return the columns of the rows in change events; see ``Format``."""
        from kafka_sql.formats.json.schema_inference import infer_columns, parse_objects

        ignore_errors = to_json_options(self._json_options, options)[IGNORE_PARSE_ERRORS]
        payload_filter = _payload_filter(self.filters, options)
        if payload_filter is not None:
            flags = payload_filter(pa.array(payloads, pa.binary())).to_pylist()
            payloads = [payload if flag else b"" for payload, flag in zip(payloads, flags, strict=True)]
        events = parse_objects(payloads, ignore_errors, errors)
        return infer_columns(_rows(events, self.dialect, self._has_envelope(options)))


def _payload_filter(filters: Mapping[str, Option[Any]], options: Options) -> PayloadFilter | None:
    """Return a filter for the fields with a pattern, which runs before the rows are decoded."""
    patterns = {name: pattern for name, option in filters.items() if (pattern := options.get(option)) is not None}
    if not patterns:
        return None
    from kafka_sql.formats.json.decoder import JsonDecoder

    decoder = JsonDecoder(
        pa.schema([(name, pa.string()) for name in patterns]),
        Options(JSON_OPTIONS, {IGNORE_PARSE_ERRORS.key: "true"}),
        splits_arrays=False,
    )

    def payload_filter(payloads: pa.BinaryArray) -> pa.BooleanArray:
        decoded = decoder.decode(payloads)
        indices = decoded.payload_indices
        rows = np.arange(len(payloads)) if indices is None else np.asarray(indices)
        is_excluded = np.zeros(len(payloads), np.bool_)
        for pattern, column in zip(patterns.values(), decoded.columns, strict=True):
            values = column.dictionary_encode()  # there are few distinct names
            names = values.dictionary.to_pylist()
            name_matches = [name is not None and pattern.fullmatch(name) is not None for name in names]
            matches = pa.array(name_matches, pa.bool_()).take(values.indices).fill_null(False)
            is_excluded[rows[~np.asarray(matches)]] = True
        return pa.array(~is_excluded)  # includes payloads that are not JSON, so that their errors are reported

    return payload_filter


def _rows(events: Iterable[dict[str, Any]], dialect: Dialect, has_envelope: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows in change events."""
    for event in events:
        change = event.get(ENVELOPE_PAYLOAD) if has_envelope else event
        for name in (dialect.new_field, dialect.old_field):
            rows = change.get(name) if isinstance(change, dict) else None
            yield from (row for row in (rows if isinstance(rows, list) else [rows]) if isinstance(row, dict))
