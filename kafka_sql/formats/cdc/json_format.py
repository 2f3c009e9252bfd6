"""A dialect of changes as a format: json's options under its own name, its decoder and encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pyarrow as pa

from kafka_sql.formats.cdc.decoder import ChangeDecoder
from kafka_sql.formats.cdc.dialect import Dialect
from kafka_sql.formats.cdc.encoder import ChangeEncoder
from kafka_sql.formats.format import Format
from kafka_sql.formats.json.options import FAIL_ON_MISSING_FIELD, IGNORE_PARSE_ERRORS, JSON_OPTIONS, of_json, renamed
from kafka_sql.options import Option, Options
from kafka_sql.table.changelog import ROW_KIND

PayloadFilter: TypeAlias = Callable[[pa.BinaryArray], pa.BooleanArray]

_SHARED: Final = tuple(option for option in JSON_OPTIONS if option is not FAIL_ON_MISSING_FIELD)


def dialect_format(
    identifier: str,
    dialect: Dialect,
    options: tuple[Option[Any], ...] = (),
    wrapped: Callable[[Options], bool] = lambda _: False,
    check_writing: Callable[[Options], None] = lambda _: None,
    keep: Callable[[Options], PayloadFilter | None] = lambda _: None,
) -> Format:
    """The format of a dialect.

    Args:
        options: what it has besides json's.
        wrapped: whether payloads stand within an envelope that has their schema.
        check_writing: raises InvalidOptionError where the options forbid writing.
        keep: which payloads are read at all.
    """
    shared = renamed(identifier, _SHARED)

    def decoder(schema: pa.Schema, given: Options, metadata: tuple[str, ...] = ()) -> ChangeDecoder:
        from kafka_sql.formats.json.decoder import JsonDecoder

        own = of_json(shared, given)
        return ChangeDecoder(
            dialect,
            lambda documents: JsonDecoder(documents, own),
            schema,
            metadata,
            wrapped=wrapped(given),
            ignore_errors=own[IGNORE_PARSE_ERRORS],
            keep=keep(given),
        )

    def encoder(schema: pa.Schema, given: Options) -> ChangeEncoder:
        from kafka_sql.formats.json.encoder import JsonEncoder

        own = of_json(shared, given)
        return ChangeEncoder(
            dialect,
            lambda documents: JsonEncoder(documents, own),
            schema,
            lambda: check_writing(given),
        )

    metadata = {ROW_KIND: pa.string(), **{key: known.type for key, known in dialect.metadata.items()}}
    return Format(
        identifier,
        (*options, *shared.values()),
        decoder,
        encoder,
        insert_only=False,
        metadata=metadata,
        metadata_decoder=decoder,
    )
