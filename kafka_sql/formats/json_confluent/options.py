"""Define the options of the json-confluent format.

They are the options of the registry, which avro-confluent has, too, and those of json.
"""

from __future__ import annotations

from typing import Any, Final

from kafka_sql.formats.confluent.options import declare_registry_options
from kafka_sql.formats.json.options import rename_options
from kafka_sql.options import Option

NAME: Final = "json-confluent"
REGISTRY: Final = declare_registry_options(
    NAME,
    "JSON",
    "The JSON Schema that is registered when the table is written to. Its properties must include the table's columns, "
    "and its required properties must be columns. By default it is derived from the columns.",
)
RENAMED_JSON_OPTIONS: Final = rename_options(NAME)
JSON_CONFLUENT_OPTIONS: Final[tuple[Option[Any], ...]] = (*REGISTRY.all, *RENAMED_JSON_OPTIONS.values())
