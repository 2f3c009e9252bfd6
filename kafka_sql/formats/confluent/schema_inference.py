"""The columns of a table that declares none: of the schema that its options give, else of the subject's latest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kafka_sql.errors import MissingOptionError, SchemaError
from kafka_sql.formats.confluent.options import RegistryOptions, registry_settings
from kafka_sql.formats.confluent.registry_schema import RegisteredSchema
from kafka_sql.formats.format import InferredSchema
from kafka_sql.options import Options

ColumnTypes: TypeAlias = tuple[tuple[str, str], ...]


def infer_from_registry(
    known: RegistryOptions, columns: Callable[[RegisteredSchema], ColumnTypes], keep: bool = True
) -> Callable[[Options], InferredSchema]:
    """What tells the columns of a table of this format.

    Args:
        columns: names and types of a schema's; raises ValueError, saying how the schema ("The Avro schema of subject
            'x' ...") has none, or SchemaError where one of its fields has no type in a table.
        keep: whether the schema is kept in the table's options.
    """

    def infer(options: Options) -> InferredSchema:
        """
        Raises:
            MissingOptionError: there is neither a schema nor a subject.
            SchemaRegistryError: the registry has none, or does not answer.
            SchemaError: a field has no type in a table.
        """
        from kafka_sql.formats.confluent.client import cached_registry

        given, subject = options.get(known.schema), options.get(known.subject)
        if given is not None:
            found, what = RegisteredSchema(0, given), f"of option '{known.schema.key}'"
        elif subject is not None:
            client = cached_registry(registry_settings(known, options))
            found, what = client.latest_schema(subject), f"of subject '{subject}'"
        else:
            raise MissingOptionError(
                f"A table without columns takes them from the schema registry: set '{known.subject.key}', or give the "
                "table one topic, whose subject it then takes.",
                option=known.subject.key,
            )
        try:
            made = columns(found)
        except ValueError as e:
            raise SchemaError(f"The {known.schema_type_name} schema {what} {e}. Declare the table's columns.") from e
        return InferredSchema(made, {} if found.references or not keep else {known.schema.key: found.text})

    return infer


def quote_identifier(name: str) -> str:
    """A field's name in a type."""
    return "`" + name.replace("`", "``") + "`"
