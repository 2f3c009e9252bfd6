"""Create the format of a JSON dialect: its decoder, its encoder, and the json format's options under its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from kafka_sql.formats.cdc.decoder import ENVELOPE_PAYLOAD, ChangeDecoder, PayloadFilter
from kafka_sql.formats.cdc.dialect import Dialect
from kafka_sql.formats.cdc.encoder import ChangeEncoder
from kafka_sql.formats.format import ColumnTypes, ErrorSink, Format
from kafka_sql.formats.json.options import (
    FAIL_ON_MISSING_FIELD,
    IGNORE_PARSE_ERRORS,
    JSON_OPTIONS,
    rename_options,
    to_json_options,
)
from kafka_sql.options import Option, Options
from kafka_sql.table.changelog import ROW_KIND

_JSON_OPTIONS: Final = tuple(option for option in JSON_OPTIONS if option is not FAIL_ON_MISSING_FIELD)


def dialect_format(
    identifier: str,
    dialect: Dialect,
    dialect_options: tuple[Option[Any], ...] = (),
    has_envelope: Callable[[Options], bool] = lambda _: False,
    check_writable: Callable[[Options], None] = lambda _: None,
    payload_filter: Callable[[Options], PayloadFilter | None] = lambda _: None,
) -> Format:
    """Return the format of a dialect.

    Args:
        dialect_options: options besides those of json.
        has_envelope: whether payloads are in an envelope with their schema.
        check_writable: raises InvalidOptionError if the options do not allow writing.
        payload_filter: see ``ChangeDecoder``.
    """
    json_options = rename_options(identifier, _JSON_OPTIONS)

    def decoder(schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> ChangeDecoder:
        from kafka_sql.formats.json.decoder import JsonDecoder

        document_options = to_json_options(json_options, options)
        return ChangeDecoder(
            dialect,
            lambda document: JsonDecoder(document, document_options, splits_arrays=False),
            schema,
            metadata,
            has_envelope=has_envelope(options),
            ignore_errors=document_options[IGNORE_PARSE_ERRORS],
            payload_filter=payload_filter(options),
        )

    def encoder(schema: pa.Schema, options: Options) -> ChangeEncoder:
        from kafka_sql.formats.json.encoder import JsonEncoder

        document_options = to_json_options(json_options, options)
        return ChangeEncoder(
            dialect,
            lambda document: JsonEncoder(document, document_options),
            schema,
            lambda: check_writable(options),
        )

    def infer_from_payloads(payloads: Sequence[bytes], options: Options, errors: ErrorSink) -> ColumnTypes:
        from kafka_sql.formats.json.schema_inference import infer_columns, parse_objects

        ignore_errors = to_json_options(json_options, options)[IGNORE_PARSE_ERRORS]
        keep = payload_filter(options)
        if keep is not None:
            flags = keep(pa.array(payloads, pa.binary())).to_pylist()
            payloads = [payload if flag else b"" for payload, flag in zip(payloads, flags, strict=True)]
        return infer_columns(_rows(parse_objects(payloads, ignore_errors, errors), dialect, has_envelope(options)))

    return Format(
        identifier,
        (*dialect_options, *json_options.values()),
        decoder,
        encoder,
        insert_only=False,
        metadata={ROW_KIND: pa.string(), **dialect.metadata_types},
        metadata_decoder=decoder,
        infer_from_payloads=infer_from_payloads,
    )


def _rows(events: Iterable[dict[str, Any]], dialect: Dialect, has_envelope: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows in change events."""
    for event in events:
        change = event.get(ENVELOPE_PAYLOAD) if has_envelope else event
        for name in (dialect.new_field, dialect.old_field):
            rows = change.get(name) if isinstance(change, dict) else None
            yield from (row for row in (rows if isinstance(rows, list) else [rows]) if isinstance(row, dict))
