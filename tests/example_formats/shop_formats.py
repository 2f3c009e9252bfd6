"""An example of a package with formats, as its users would install it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.formats.custom import (
    CustomFormat,
    Decoded,
    EncodeError,
    ErrorSink,
    Options,
    RecordwiseDecoder,
    RowwiseEncoder,
    SchemaError,
    string,
)

SEPARATOR = string("pairs.separator", "What is between two pairs.", default=";")


class Pairs(CustomFormat):
    """Strings such as ``a=1;b=x``: a row of STRING columns, one record at a time."""

    contract_version = 1
    identifier = "pairs"
    options = (SEPARATOR,)

    def create_decoder(self, schema: pa.Schema, options: Options) -> RecordwiseDecoder:
        for field in schema:
            if field.type != pa.string():
                raise SchemaError(f"Column '{field.name}': the format 'pairs' supports only STRING.", column=field.name)
        return PairsDecoder(schema, options[SEPARATOR])

    def create_encoder(self, schema: pa.Schema, options: Options) -> RowwiseEncoder:
        return PairsEncoder(options[SEPARATOR])


class PairsDecoder(RecordwiseDecoder):
    def __init__(self, schema: pa.Schema, separator: str) -> None:
        super().__init__(schema)
        self.separator = separator

    def rows(self, payload: bytes) -> Iterable[Mapping[str, Any]]:
        pairs = [pair.partition("=") for pair in payload.decode().split(self.separator)]
        if not all(equals for _, equals, _ in pairs):
            raise ValueError("expected pairs such as a=1")
        return [{name: value for name, _, value in pairs}]


class PairsEncoder(RowwiseEncoder):
    def __init__(self, separator: str) -> None:
        self.separator = separator

    def payload(self, row: dict[str, Any]) -> bytes | None:
        pairs = [(name, value) for name, value in row.items() if value is not None]
        for name, value in pairs:
            if self.separator in value:
                raise EncodeError(f"Column '{name}': {value!r} contains the separator '{self.separator}'.")
        return self.separator.join(f"{name}={value}" for name, value in pairs).encode()


class Lengths(CustomFormat):
    """The number of bytes of a payload, in one BIGINT column, for a whole buffer at a time; read-only."""

    contract_version = 1
    identifier = "lengths"

    def create_decoder(self, schema: pa.Schema, options: Options) -> LengthsDecoder:
        return LengthsDecoder()


class LengthsDecoder:
    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        return Decoded([pc.binary_length(payloads).cast(pa.int64())])


class Visits(CustomFormat):
    """A row per line of the value, with the record's key, header ``shop`` and position."""

    contract_version = 1
    identifier = "visits"
    reads_records = True

    def create_decoder(self, schema: pa.Schema, options: Options) -> RecordwiseDecoder:
        return VisitsDecoder(schema)


class VisitsDecoder(RecordwiseDecoder):
    def rows(self, payload: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
        if payload["value"] is None:
            return
        headers = {header["key"]: header["value"] for header in payload["headers"] or ()}
        for line in payload["value"].decode().splitlines():
            yield {
                "visitor": (payload["key"] or b"").decode(),
                "page": line,
                "shop": headers["shop"].decode() if "shop" in headers else None,
                "position": f"{payload['partition']}@{payload['offset']}",
                "at": payload["timestamp"],
            }
