"""What stands under a name in Spark's catalog. Spark lists a table without loading it, so that one whose data source is
not known can be told, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from kafka_sql.catalog.sql_literals import path, pattern, string

Name = tuple[str, str]

OWNER: Final = "kafka_sql.owner"  # a table property: the application that made the entry
_FIELD = r"^{}: (.*)$"
_OWNED = re.compile(rf"\b{re.escape(OWNER)}=([^,\]]*)")


@dataclass(frozen=True)
class Occupant:
    """An entry of Spark's catalog.

    Attributes:
        view: whether it is a view.
        provider: a table's data source, ``kafka.orders``.
        owner: the application that made it, where it is a table of this package; None where it is not.
        text: a view's query.
    """

    view: bool
    provider: str
    owner: str | None
    text: str


def occupants(plain: Callable[[str], DataFrame], name: Name) -> dict[str, Occupant]:
    """What stands under a name, and under those that begin with it (the data source behind a view does)."""
    database, table = name
    like = string(pattern(table) + "*")
    rows = plain(f"SHOW TABLE EXTENDED IN {path(('spark_catalog', database))} LIKE {like}").collect()
    return {row.tableName.lower(): _read(row.information) for row in rows if not row.isTemporary}


def _read(information: str) -> Occupant:
    provider, owned = _field("Provider", information), _OWNED.search(_field("Table Properties", information))
    owner = owned[1] if owned and provider.startswith("kafka.") else None
    return Occupant(_field("Type", information) == "VIEW", provider, owner, _field("View Text", information))


def _field(label: str, information: str) -> str:
    """The first line of that label: a comment, which could hold another, stands after them all."""
    found = re.search(_FIELD.format(label), information, re.MULTILINE)
    return found[1] if found else ""
