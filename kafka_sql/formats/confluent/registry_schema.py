"""Define a schema of a registry, and the metadata keys of the formats with a registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

SCHEMA_ID: Final = "schema-id"
SUBJECT_NAME: Final = "subject"
METADATA: Final = {SCHEMA_ID: pa.int32(), SUBJECT_NAME: pa.string()}


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema in a registry.

    Attributes:
        schema_id: its id; 0 if it is not from a registry.
        text: its definition.
        references: names and definitions of the schemas that it references, each after those that it references itself.
    """

    schema_id: int
    text: str
    references: tuple[tuple[str, str], ...] = ()

    @property
    def reference_texts(self) -> list[str]:
        """The definitions of the schemas that it references."""
        return [text for _, text in self.references]
