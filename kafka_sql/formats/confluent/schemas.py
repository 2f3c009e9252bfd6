"""Define a schema of a registry and the metadata of its formats, and infer the columns of tables without columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from kafka_sql.errors import MissingOptionError, SchemaError
from kafka_sql.formats.confluent.options import RegistryOptions, registry_settings
from kafka_sql.formats.format import ColumnTypes, InferredSchema
from kafka_sql.options import Options

SCHEMA_ID: Final = "schema-id"
SUBJECT_NAME: Final = "subject"
METADATA: Final = {SCHEMA_ID: pa.int32(), SUBJECT_NAME: pa.string()}


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema in a registry."""

    schema_id: int  # its id; 0 if it is not from a registry
    text: str  # its definition
    # names and definitions of the schemas that it references, each after those that it references itself
    references: tuple[tuple[str, str], ...] = ()

    @property
    def reference_texts(self) -> list[str]:
        """The definitions of the schemas that it references."""
        return [text for _, text in self.references]


def infer_from_registry(
    registry_options: RegistryOptions,
    infer_columns: Callable[[RegisteredSchema], ColumnTypes],
    store_schema: bool = True,
) -> Callable[[Options], InferredSchema]:
    """Return a function for ``Format.infer_schema``.

    Args:
        infer_columns: returns the columns of a schema. Raises SchemaError if no column type can hold a field, and
            ValueError if the schema has no columns; its message continues a sentence such as "The Avro schema of
            subject 'x' ...".
        store_schema: whether to store the schema in the table's options.
    """

    def infer(options: Options) -> InferredSchema:
        """Infer the columns of a table.

        Raises:
            MissingOptionError: there is neither a schema nor a subject.
            SchemaRegistryError: the registry has no schema, or is unavailable.
            SchemaError: no column type can hold a field.
        """
        from kafka_sql.formats.confluent.client import cached_registry

        text, subject = options.get(registry_options.schema), options.get(registry_options.subject)
        if text is not None:
            schema, source = RegisteredSchema(0, text), f"of option '{registry_options.schema.key}'"
        elif subject is not None:
            client = cached_registry(registry_settings(registry_options, options))
            schema, source = client.latest_schema(subject), f"of subject '{subject}'"
        else:
            raise MissingOptionError(
                f"To infer the table's columns from the schema registry, set '{registry_options.subject.key}', or a "
                "single topic, which names the subject.",
                option=registry_options.subject.key,
            )
        try:
            columns = infer_columns(schema)
        except ValueError as e:
            raise SchemaError(
                f"The {registry_options.schema_type_name} schema {source} {e}. Declare the table's columns."
            ) from e
        stored_options = {registry_options.schema.key: schema.text} if store_schema and not schema.references else {}
        return InferredSchema(columns, stored_options)

    return infer
