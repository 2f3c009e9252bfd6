"""A record's key or its value as a table declares it: a format, its options, and the columns that it has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from kafka_sql.formats.declared_types import DECLARED_TYPE
from kafka_sql.formats.format import Decoder, Encoder, Format
from kafka_sql.formats.registry import find_format
from kafka_sql.options import Options
from kafka_sql.options.option import extract_format_options


@dataclass(frozen=True)
class Payload:
    """One of a record's two payloads.

    Attributes:
        format: how its bytes are read and written.
        prefix: what stands before the format's options in WITH: nothing, ``key.`` or ``value.``.
        given: the format's options as text, under the format's own keys.
        columns: names of the table's columns that it has, in its own order.
        fields: their names inside the payload, without 'key.fields-prefix'.
        declared: their types as the statement spells them, for what Arrow's types do not tell.
    """

    format: Format
    prefix: str
    raw_options: Mapping[str, str] = field(repr=False)
    options: Options
    columns: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    declared_types: Mapping[str, str] = field(default_factory=dict)

    @property
    def option_keys(self) -> list[str]:
        """Every option that the format has here, as it is typed in WITH."""
        named = [key for option in self.format.options for key in option.keys]
        return [
            self.prefix + key
            for key in (*named, *(k for k in self.raw_options if _map_option_of(k, self.format) is not None))
        ]

    def with_columns(
        self, columns: Sequence[str], topics: Sequence[str], prefix: str = "", declared: Mapping[str, str] | None = None
    ) -> Payload:
        """The payload with its columns, for a table on these topics."""
        fields = tuple(name.removeprefix(prefix) for name in columns)
        types = {name: (declared or {}).get(name, "") for name in columns}
        return replace(
            self, columns=tuple(columns), fields=fields, declared_types=types, options=self._with_subject(topics)
        )

    def _with_subject(self, topics: Sequence[str]) -> Options:
        """A schema registry's subject is ``<topic>-key`` or ``<topic>-value`` where the table has one topic and says
        no other (KafkaConnectorOptionsUtil.autoCompleteSchemaRegistrySubject).
        """
        subject = next((o for o in self.format.options if o.key == f"{self.format.identifier}.subject"), None)
        if subject is None or self.options.is_set(subject) or len(topics) != 1:
            return self.options
        name = f"{topics[0]}-{'key' if self.prefix == 'key.' else 'value'}"
        own = _fold_maps({**self.raw_options, subject.key: name}, self.format)
        return Options(self.format.options, own, self.prefix)

    def create_decoder(self, stored: pa.Schema, metadata: tuple[str, ...] = ()) -> Decoder:
        """A decoder of the payload's columns.

        Args:
            stored: the table's columns.
            metadata: the format's metadata that the table declares, without ``value.``.

        Raises:
            SchemaError: the format cannot carry a column.
        """
        schema = self._schema(stored)
        if metadata and self.format.metadata_decoder is not None:
            return self.format.metadata_decoder(schema, self.options, metadata)
        return self.format.decoder(schema, self.options)

    def create_encoder(self, stored: pa.Schema) -> Encoder:
        """An encoder of the payload's columns.

        Raises:
            SchemaError: the format cannot carry a column.
        """
        return self.format.encoder(self._schema(stored), self.options)

    def select(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The payload's columns of a batch, under its names."""
        return batch.select(list(self.columns)).rename_columns(list(self.fields))

    def _schema(self, stored: pa.Schema) -> pa.Schema:
        pairs = zip(self.columns, self.fields, strict=True)
        return pa.schema(
            [
                stored.field(column).with_name(name).with_metadata({DECLARED_TYPE: self.declared_types.get(column, "")})
                for column, name in pairs
            ]
        )


def parse_payload(option: str, prefix: str, given: Mapping[str, str]) -> Payload:
    """The payload whose format is named by ``option``; its columns are not known yet.

    Raises:
        OptionError: there is no such format, or one of its options is missing or ill-typed.
    """
    found = find_format(given[option], option)
    own = _fold_maps(extract_format_options(given, prefix, found.identifier), found)
    return Payload(
        found, prefix, extract_format_options(given, prefix, found.identifier), Options(found.options, own, prefix)
    )


def _map_option_of(key: str, owner: Format) -> str | None:
    """The option of type Map that ``key`` is an entry of: ``x.properties`` of ``x.properties.a.b``."""
    maps = (option.key for option in owner.options if option.type == "Map")
    return next((name for name in maps if key.startswith(f"{name}.")), None)


def _fold_maps(own: Mapping[str, str], owner: Format) -> dict[str, str]:
    """The options with entries of maps, which may stand one by one, under the maps' keys, as JSON after a NUL."""
    folded = {key: text for key, text in own.items() if _map_option_of(key, owner) is None}
    entries: dict[str, dict[str, str]] = {}
    for key, text in own.items():
        name = _map_option_of(key, owner)
        if name is not None:
            entries.setdefault(name, {})[key.removeprefix(f"{name}.")] = text
    return {**folded, **{name: "\0" + json.dumps(texts) for name, texts in entries.items()}}
