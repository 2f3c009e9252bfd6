"""Payloads with a schema's id before them to columns: each by the schema that it was written with."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import DecodeError, SchemaNotFoundError
from kafka_sql.formats.avro.decoder import Reader
from kafka_sql.formats.avro.plan import Mismatch, plan
from kafka_sql.formats.avro.schema import parse
from kafka_sql.formats.avro_confluent.client import registry
from kafka_sql.formats.avro_confluent.framing import HEADER, ids, spread
from kafka_sql.formats.avro_confluent.options import SUBJECT, settings
from kafka_sql.formats.avro_confluent.tables import table_schema
from kafka_sql.formats.format import Decoded
from kafka_sql.formats.memory import bytes_and_offsets
from kafka_sql.options import Options

SCHEMA_ID: Final = "schema-id"
SUBJECT_NAME: Final = "subject"


class ConfluentDecoder:
    """Decodes Confluent's wire format; a null payload is no row."""

    terminator = b""

    def __init__(self, schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> None:
        """
        Args:
            metadata: ``schema-id``, ``subject``: what to give besides the columns.

        Raises:
            SchemaError: a column has no form in Avro, or the given schema does not fit the columns.
            OptionError: the registry's settings are in error.
        """
        self._schema, self._metadata = schema, metadata
        self._own = parse(table_schema(schema, options))
        self._registry = registry(settings(options))
        self._subject = options.get(SUBJECT)
        self._readers: dict[int, Reader] = {}
        self._unreadable: dict[int, str] = {}  # ids and why

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: the first payload in error; one whose schema is unknown or cannot be read as the columns is.
            SchemaRegistryError: the registry does not answer, for which no record is to blame.
        """
        kept = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        data, offsets = bytes_and_offsets(payloads)
        found = ids(data, offsets, kept)
        if len(found) and (found == found[0]).all():
            columns = self._reader(int(found[0]), int(kept[0])).read(data, offsets, kept, HEADER)
        else:
            columns = self._by_schema(data, offsets, kept, found)
        rows = pa.array(kept, pa.int64()) if payloads.null_count else None
        return Decoded(columns, rows, [self._of(key, found) for key in self._metadata])

    def _by_schema(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int32],
        kept: npt.NDArray[np.int64],
        found: npt.NDArray[np.uint32],
    ) -> list[pa.Array]:
        """The same for several schemas: each one's payloads at a time."""
        parts: list[list[pa.Array]] = []
        places, errors = [np.empty(0, np.int64)], []
        for number in np.unique(found).tolist():
            mine = np.flatnonzero(found == number)
            try:
                parts.append(self._reader(number, int(kept[mine[0]])).read(data, offsets, kept[mine], HEADER))
            except DecodeError as e:
                errors.append(e)
            places.append(mine)
        if errors:
            raise min(errors, key=lambda e: e.row)
        order = np.argsort(np.concatenate(places), kind="stable")
        empty = [pa.array([], field.type) for field in self._schema]
        return [spread(list(column), order) for column in zip(empty, *parts, strict=True)]

    def _reader(self, number: int, row: int) -> Reader:
        """What reads payloads of a schema; ``row`` is the first that has it."""
        if number not in self._readers and number not in self._unreadable:
            try:
                *references, text = self._registry.schema(number)
                self._readers[number] = Reader(plan(parse(text, references), self._own, self._schema))
            except SchemaNotFoundError as e:
                self._unreadable[number] = str(e)
            except ValueError as e:
                self._unreadable[number] = f"the Avro schema of id {number} {e}"
            except Mismatch as e:
                self._unreadable[number] = f"the Avro schema of id {number} cannot be read as the table's columns: {e}"
        if number in self._unreadable:
            raise DecodeError(row, None, self._unreadable[number])
        return self._readers[number]

    def _of(self, key: str, found: npt.NDArray[np.uint32]) -> pa.Array:
        if key == SCHEMA_ID:
            return pa.array(found.astype(np.int32), pa.int32())
        return pa.repeat(pa.scalar(self._subject, pa.string()), len(found))
