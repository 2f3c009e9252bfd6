"""What a registry gives, and what its formats tell of a record besides its columns."""

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
        number: its id.
        references: names and texts of the schemas that it refers to, each behind those that it refers to itself.
    """

    schema_id: int
    text: str
    references: tuple[tuple[str, str], ...] = ()
