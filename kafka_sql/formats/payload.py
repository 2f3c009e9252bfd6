"""Describe the key or value of a table's records: its format, the format's options, and its columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from kafka_sql.formats.declared_types import DECLARED_TYPE
from kafka_sql.formats.format import Decoder, Encoder, Format
from kafka_sql.formats.registry import find_format
from kafka_sql.options import Option, Options
from kafka_sql.options.option import extract_format_options


@dataclass(frozen=True)
class Payload:
    """The key or value of a table's records.

    Example: with ``'key.format' = 'json', 'key.fields' = 'k_id', 'key.fields-prefix' = 'k_'``, the key's prefix is
    ``key.``, ``columns`` is ``("k_id",)`` and ``fields`` is ``("id",)``.
    """

    format: Format  # encodes and decodes it
    prefix: str  # what the keys of the format's options start with in WITH: empty, ``key.`` or ``value.``
    raw_options: Mapping[str, str] = field(repr=False)  # the format's options as strings, under the format's own keys
    options: Options
    columns: tuple[str, ...] = ()  # names of the table's columns that the payload contains, in the payload's order
    fields: tuple[str, ...] = ()  # the columns' names inside the payload, without 'key.fields-prefix'
    # the columns' types as written in the statement, by column name. They have what Arrow's types lack, such as
    # precisions.
    declared_types: Mapping[str, str] = field(default_factory=dict)

    @property
    def option_keys(self) -> list[str]:
        """The keys of all options that the format takes in this table, as they are written in WITH."""
        keys = [key for option in self.format.options for key in option.keys]
        map_entries = [key for key in self.raw_options if _map_option_of(key, self.format) is not None]
        return [self.prefix + key for key in (*keys, *map_entries)]

    @property
    def subject(self) -> str | None:
        """The subject in a schema registry; None for a format without registry, or a table without single subject."""
        return None if self._subject_option is None else self.options.get(self._subject_option)

    @property
    def _subject_option(self) -> Option[str] | None:
        return next((o for o in self.format.options if o.key == f"{self.format.identifier}.subject"), None)

    def with_columns(
        self,
        columns: Sequence[str],
        topics: Sequence[str],
        prefix: str = "",
        declared_types: Mapping[str, str] | None = None,
    ) -> Payload:
        """Return this payload with columns of a table with these topics. ``prefix`` is 'key.fields-prefix'."""
        fields = tuple(name.removeprefix(prefix) for name in columns)
        types = {name: (declared_types or {}).get(name, "") for name in columns}
        return replace(
            self, columns=tuple(columns), fields=fields, declared_types=types, options=self._with_subject(topics)
        )

    def _with_subject(self, topics: Sequence[str]) -> Options:
        """Return the options with a default subject for the schema registry: ``<topic>-key`` or ``<topic>-value``.

        A table of several topics has no default (KafkaConnectorOptionsUtil.autoCompleteSchemaRegistrySubject).
        """
        subject = self._subject_option
        if subject is None or self.options.is_set(subject) or len(topics) != 1:
            return self.options
        name = f"{topics[0]}-{'key' if self.prefix == 'key.' else 'value'}"
        values = _combine_map_entries({**self.raw_options, subject.key: name}, self.format)
        return Options(self.format.options, values, self.prefix)

    def create_decoder(self, table_schema: pa.Schema, metadata: tuple[str, ...] = ()) -> Decoder:
        """Return a decoder of the payload's columns; see ``Format``.

        Args:
            table_schema: the schema of the table's columns.
            metadata: keys of the format's metadata that the table declares, without ``value.``.

        Raises:
            SchemaError: the format does not support a column's type.
        """
        return self.format.decoder(self.field_schema(table_schema), self.options, *([metadata] if metadata else []))

    def create_encoder(self, table_schema: pa.Schema) -> Encoder:
        """Return an encoder of the payload's columns; see ``Format``.

        Raises:
            SchemaError: the format does not support a column's type.
        """
        return self.format.encoder(self.field_schema(table_schema), self.options)

    def select(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the payload's columns of a batch, named as its fields."""
        return batch.select(list(self.columns)).rename_columns(list(self.fields))

    def field_schema(self, table_schema: pa.Schema) -> pa.Schema:
        """Return the schema of the payload's fields, with their declared types."""
        fields = []
        for column, name in zip(self.columns, self.fields, strict=True):
            metadata = {DECLARED_TYPE: self.declared_types.get(column, "")}
            fields.append(table_schema.field(column).with_name(name).with_metadata(metadata))
        return pa.schema(fields)


def parse_payload(option: str, prefix: str, table_options: Mapping[str, str]) -> Payload:
    """Return a payload without its columns.

    Args:
        option: key of the option that names the format.
        prefix: what the keys of the format's options start with.

    Raises:
        OptionError: the format does not exist, or one of its options is missing or has an invalid value.
    """
    format_ = find_format(table_options[option], option)
    raw_options = extract_format_options(table_options, prefix, format_.identifier)
    return Payload(
        format_, prefix, raw_options, Options(format_.options, _combine_map_entries(raw_options, format_), prefix)
    )


def _map_option_of(key: str, format_: Format) -> str | None:
    """Return the option of type Map that ``key`` is an entry of: ``x.properties`` for ``x.properties.a.b``."""
    maps = (option.key for option in format_.options if option.type == "Map")
    return next((name for name in maps if key.startswith(f"{name}.")), None)


def _combine_map_entries(raw_options: Mapping[str, str], format_: Format) -> dict[str, str]:
    """Return the options with the entries of each Map option combined into one value: NUL and a JSON object.

    Example: ``{"x.properties.a": "1"}`` becomes ``{"x.properties": '\\0{"a": "1"}'}``.
    """
    combined: dict[str, str] = {}
    entries: dict[str, dict[str, str]] = {}
    for key, text in raw_options.items():
        name = _map_option_of(key, format_)
        if name is None:
            combined[key] = text
        else:
            entries.setdefault(name, {})[key.removeprefix(f"{name}.")] = text
    return {**combined, **{name: "\0" + json.dumps(texts) for name, texts in entries.items()}}
